# Kernelwright as a service, in two sizes: --target cpu (kernels are emulated, models run on the CPU) and --target cuda (an NVIDIA GPU, with
# the host's driver). docs/container.md has the commands. BASE may be any Debian 12 or Ubuntu 24.04, one made with debootstrap as well.
# PROGRAM=source builds the program here; PROGRAM=tree takes what `make container-tree` has left in build-container/. Needs BuildKit, which
# leaves out the stages that are not asked for.
ARG BASE=debian:bookworm-slim
ARG PROGRAM=source

FROM ${BASE} AS source-cpu
ENV KERNELWRIGHT_CACHE=/var/cache/kernelwright DEBIAN_FRONTEND=noninteractive
ARG JOBS=2
RUN apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git make python3 python3-venv && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What is installed depends on these alone, so a change of the source does not download libtorch again.
COPY Makefile ./
COPY scripts scripts
RUN make setup-program
COPY . .
RUN make container-tree JOBS=${JOBS} && mv build-container/cpu /opt/kernelwright

FROM source-cpu AS source-cuda
RUN make setup-program GPU=1 && make container-tree TARGET=cuda JOBS=${JOBS} && \
    rm -rf /opt/kernelwright && mv build-container/cuda /opt/kernelwright

FROM scratch AS tree-cpu
COPY build-container/cpu /opt/kernelwright

FROM scratch AS tree-cuda
COPY build-container/cuda /opt/kernelwright

FROM ${PROGRAM}-cpu AS program-cpu
FROM ${PROGRAM}-cuda AS program-cuda

# What both have: the C++ library, certificates for `model fetch`, a user without rights, one folder to write in.
FROM ${BASE} AS runtime
RUN apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates curl libgomp1 libstdc++6 && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* && \
    useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin kernelwright && \
    install -d -o kernelwright -g kernelwright /data
ENV PATH=/opt/kernelwright/bin:/usr/bin:/bin KERNELWRIGHT_CUDA=/opt/kernelwright/lib/kernelwright/site-packages/nvidia/cu13 \
    KERNELWRIGHT_CACHE=/data/cache KERNELWRIGHT_RUNS=/data/runs HOME=/data TMPDIR=/tmp
WORKDIR /data
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD curl -fsS -o /dev/null http://127.0.0.1:8000/health || exit 1
ENTRYPOINT ["kernelwright"]
# Who publishes the port decides who reaches it; compose.yaml has keys.
CMD ["serve", "--listen", "0.0.0.0:8000", "--open-to-all", "--model", "tiny", "--judge-workers", "2"]

FROM runtime AS cpu
COPY --from=program-cpu /opt/kernelwright /opt/kernelwright

FROM runtime AS cuda
# Read by NVIDIA's container runtime, which brings the driver in.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=program-cuda /opt/kernelwright /opt/kernelwright
