# The command line, with PyTorch for the CPU:
#   docker build -t surefoot .
#   docker run --rm -v "$PWD:/study" surefoot tune study.toml
FROM python:3.12-slim
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir --constraint constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu '.[tune]'
WORKDIR /study
ENTRYPOINT ["surefoot"]
