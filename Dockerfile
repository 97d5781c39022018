# Kernelwright as a service, in two sizes: --target cpu (kernels are emulated, models run on the CPU) and --target cuda (an NVIDIA GPU, with
# the host's driver). docs/container.md has the commands. BASE may be any Debian 12 or Ubuntu 24.04, one made with debootstrap as well.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
# Where pip's packages stay: libkernelwright_torch.so looks for libtorch at the place where it was built.
ENV KERNELWRIGHT_CACHE=/opt/kernelwright/cache DEBIAN_FRONTEND=noninteractive
ARG JOBS=2
RUN apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git make python3 python3-venv && \
    rm -rf /var/lib/apt/lists/*
WORKDIR /src
# What is installed depends on these alone, so a change of the source does not download libtorch again.
COPY Makefile ./
COPY scripts scripts
RUN make setup-program && rm -rf /var/lib/apt/lists/* /root/.cache
COPY . .
RUN make install PREFIX=/opt/kernelwright JOBS=${JOBS} && rm -rf build
# What neither the program nor a kernel reads: Python, headers of PyTorch, halves for a GPU that this image has not.
RUN deps=$(readlink -f .deps) && cd "$deps" && packages=$(readlink -f site-packages) && \
    rm -rf source tree-sitter venv/bin && \
    find "$packages" -mindepth 1 -maxdepth 1 ! -name torch ! -name nvidia -exec rm -rf {} + && \
    find "$packages/torch" -mindepth 1 -maxdepth 1 ! -name lib -exec rm -rf {} + && \
    cd "$packages/torch/lib" && rm -f libtorch_python.so libtorch_cuda*.so libtorch_nvshmem.so libc10_cuda.so libcaffe2_nvrtc.so

FROM build AS build-cuda
# libtorch again, whole, with what it loads on a GPU, and the library of models on a GPU.
RUN rm -rf /opt/kernelwright/cache && mkdir -p /dev && { [ -e /dev/nvidiactl ] || touch /dev/nvidiactl; } && \
    make setup-program && make install PREFIX=/opt/kernelwright JOBS=${JOBS:-2} && rm -rf build /dev/nvidiactl && \
    deps=$(readlink -f .deps) && cd "$deps" && packages=$(readlink -f site-packages) && \
    rm -rf source tree-sitter venv/bin /root/.cache /var/lib/apt/lists/* && \
    find "$packages" -mindepth 1 -maxdepth 1 ! -name torch ! -name nvidia -exec rm -rf {} + && \
    find "$packages/torch" -mindepth 1 -maxdepth 1 ! -name lib -exec rm -rf {} +

# What both have: the C++ library, certificates for `model fetch`, a user without rights, one folder to write in.
FROM ${BASE} AS runtime
RUN apt-get update -q && \
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends ca-certificates curl libgomp1 libstdc++6 && \
    rm -rf /var/lib/apt/lists/* && \
    useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin kernelwright && \
    install -d -o kernelwright -g kernelwright /data
ENV PATH=/opt/kernelwright/bin:/usr/bin:/bin KERNELWRIGHT_CACHE=/data/cache KERNELWRIGHT_RUNS=/data/runs HOME=/data TMPDIR=/tmp
WORKDIR /data
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD curl -fsS -o /dev/null http://127.0.0.1:8000/health || exit 1
ENTRYPOINT ["kernelwright"]
# Who publishes the port decides who reaches it; compose.yaml has keys.
CMD ["serve", "--listen", "0.0.0.0:8000", "--open-to-all", "--model", "tiny", "--judge-workers", "2"]

FROM runtime AS cpu
COPY --from=build /opt/kernelwright /opt/kernelwright

FROM runtime AS cuda
# Read by NVIDIA's container runtime, which brings the driver in.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility
COPY --from=build-cuda /opt/kernelwright /opt/kernelwright
