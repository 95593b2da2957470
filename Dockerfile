# The command line, with PyTorch for the CPU:
#   docker build -t surefoot .
#   docker run --rm -v "$PWD:/study" surefoot tune study.toml
FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /surefoot \
    && /surefoot/bin/pip install --no-cache-dir --no-compile \
        --index-url https://download.pytorch.org/whl/cpu torch \
    && /surefoot/bin/pip install --no-cache-dir --no-compile --constraint constraints.txt '.[tune]' \
    && /surefoot/bin/pip uninstall --yes pip
# Headers, tests and symbols take a third of the room. What is imported at each start is compiled once.
RUN apt-get update && apt-get install --yes --no-install-recommends binutils
RUN cd /surefoot/lib/python3.12/site-packages \
    && rm -rf torch/include torch/test torch/bin/test_* torch/bin/protoc* \
    && find torch -name "*.so" -exec strip --strip-unneeded {} + \
    && find . -type d -name tests -prune -exec rm -rf {} + \
    && /surefoot/bin/python -c "import surefoot.cli, surefoot.plot, surefoot.tune.running"
FROM python:3.12-slim
COPY --from=build /surefoot /surefoot
ENV PATH=/surefoot/bin:$PATH
WORKDIR /study
ENTRYPOINT ["surefoot"]
