FROM python:3.12-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim-bookworm
# cpu or gpu: which ONNX Runtime.
ARG EXTRA=cpu
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(echo /wheels/medley-*.whl)[${EXTRA},traces]"
# The loader finds the CUDA libraries that come as packages only where it is told of them.
RUN if [ "${EXTRA}" = gpu ]; then \
        pip install --no-cache-dir "onnxruntime-gpu[cuda,cudnn]" \
        && find /usr/local/lib/python3.12/site-packages/nvidia -name lib -type d > /etc/ld.so.conf.d/nvidia.conf \
        && ldconfig; \
    fi
RUN useradd --uid 1000 --create-home medley && install --directory --mode 0700 --owner medley --group medley /var/lib/medley
USER medley
WORKDIR /home/medley
ENV MEDLEY_HOME=/var/lib/medley PYTHONUNBUFFERED=1
ENTRYPOINT ["medley"]
CMD ["serve"]
