"""A study by the Model Context Protocol: python mcp_client.py study.toml.

An agent is given the same server: command `surefoot`, arguments `serve study.toml --mcp`.
"""

import asyncio
import math
import os
import sys

from mcp import Client, StdioServerParameters


def measure(threads: int, buffer: float) -> float:
    return 12 + 3 * math.log(threads / 10) ** 2 + math.log(buffer / 20) ** 2


async def main(study: str) -> None:
    server = StdioServerParameters(
        command="surefoot", args=["serve", study, "--mcp"], env={**os.environ}
    )
    async with Client(server) as client:
        print("tools:", ", ".join(tool.name for tool in (await client.list_tools()).tools))
        while True:
            asked = await client.call_tool("ask", {"count": 2})
            if asked.is_error:
                print(asked.content[0].text)
                break
            for one in asked.structured_content["configurations"]:
                value = measure(**one["params"])
                await client.call_tool("tell", {"id": one["id"], "value": value})
        best = await client.call_tool("predict", {"configurations": ["recommended"]})
        print("recommended:", best.structured_content["predictions"][0]["params"])


asyncio.run(main(sys.argv[1]))
