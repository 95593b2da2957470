"""A study as a server of the Model Context Protocol, for agents."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

from surefoot._internal.extras import extra
from surefoot.tune.ask_tell.ask_tell import AskTell
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.plain_text import error_line
from surefoot.types import InvalidInput, SurefootError

if TYPE_CHECKING:
    from mcp.server import MCPServer

INSTRUCTIONS = """Optimise a noisy system: ask for configurations, measure each by your own means, \
tell their values, and ask again. `predict` with "recommended" gives the best one known, with its \
interval; a single measurement may be noise."""


def mcp_server(study: AskTell) -> MCPServer:
    """A server whose tools are the verbs of a study.

    Args:
        study: The study.

    Returns:
        The server.

    Raises:
        NotInstalled: If the package `mcp` is absent.
    """
    with extra("mcp"):
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import CallToolResult, TextContent

    verbs, sent = Verbs(study), ContextVar[dict[str, Any]]("sent")

    async def with_known_arguments(context: Any, call_next: Callable[..., Any]) -> Any:
        """Refuse a call with an argument that its tool would pass over."""
        called = (context.params or {}) if context.method == "tools/call" else {}
        name, given = called.get("name", ""), called.get("arguments") or {}
        if name in verbs.by_name and isinstance(given, dict):
            try:
                verbs.check_arguments(name, given)
                sent.set(given)
            except InvalidInput as error:
                text = f"Error executing tool {name}: {error_line(error)}"
                return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True)
        return await call_next(context)

    def with_one_line_errors(verb: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
        @wraps(verb)
        def tool(**given: Any) -> dict[str, Any]:
            try:  # as they were sent: `given` may have 1.0 for true
                return verb(**sent.get(given))
            except SurefootError as error:
                raise ToolError(error_line(error)) from None

        return tool

    server = MCPServer(
        f"surefoot {study.study_file.study.name}",
        instructions=INSTRUCTIONS,
        log_level="WARNING",
        middleware=[with_known_arguments],
    )
    for name, verb in verbs.by_name.items():
        server.tool(name=name)(with_one_line_errors(verb))
    return server


def run_mcp(study: AskTell) -> None:
    """Serve a study on standard input and output, until they are closed.

    Args:
        study: The study.
    """
    mcp_server(study).run("stdio")
