"""Spans: what a request, a step of a search or a batch took, as OpenTelemetry records it. Off unless `start` is called.

While it is off, nothing of OpenTelemetry is imported, and a span is one comparison. What a span says is chosen from
`Attribute`: numbers, and names that the operator or this code chose; never a text, an id of a document, or a secret.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Final, Literal, Protocol, TypeVar
from urllib.parse import urlsplit

from mappings.errors import InvalidInput

T = TypeVar("T")
Kind = Literal["internal", "server", "client", "consumer"]
Attribute = Literal[
    "db.operation.name",
    "db.system.name",
    "error.type",
    "http.request.method",
    "http.response.status_code",
    "http.route",
    "medley.attempts",
    "medley.candidates",
    "medley.collection",
    "medley.degraded",
    "medley.documents",
    "medley.failed",
    "medley.hits",
    "medley.inputs",
    "medley.model",
    "medley.partial",
    "medley.scored",
    "server.address",
    "server.port",
    "url.path",
]
"""The names of attributes: OpenTelemetry's own conventions where they have one."""

Attributes = Mapping[Attribute, str | int | float | bool]
Carrier = Mapping[str, str]
"""Headers of W3C Trace Context, by lower-case name."""

NOTHING: Final[Attributes] = {}
NO_CARRIER: Final[Carrier] = {}
TRACEPARENT: Final = "traceparent"
_REST: Final = "rest"
_PATH: Final = "/v1/traces"


class OpenSpan(Protocol):
    """A span that is the current one of its context until it is left; an exception marks it as failed, by its type only."""

    def __enter__(self) -> OpenSpan: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None: ...

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def rename(self, name: str) -> None:
        """Give it another name."""

    def fail(self, error: str) -> None:
        """Mark it as failed; `error` is a type of error or an HTTP status."""


class Recorder(Protocol):
    """What records spans; see `search.tracing.otlp`."""

    def open(self, name: str, kind: Kind, attributes: Attributes, carrier: Carrier) -> OpenSpan:
        """Open a span below the current one, or else below the one in `carrier`."""
        ...

    def headers(self) -> dict[str, str]:
        """The headers that lead to the current span; empty without one."""
        ...

    def stop(self) -> None:
        """Send what is left, for a few seconds at most."""


class _NoSpan:
    """The span of a process that records none."""

    def __enter__(self) -> _NoSpan:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return

    def set(self, attributes: Attributes) -> None:
        """Do nothing."""

    def rename(self, name: str) -> None:
        """Do nothing."""

    def fail(self, error: str) -> None:
        """Do nothing."""


NO_SPAN: Final[OpenSpan] = _NoSpan()
_recorder: Recorder | None = None


def span(
    name: str, attributes: Attributes = NOTHING, kind: Kind = "internal", carrier: Carrier = NO_CARRIER
) -> OpenSpan:
    """A span, to be entered with `with`. It is below the current one, or else below the one in `carrier`.

    A call to another server (`client`) is recorded only below another span: health checks would be most of them.
    """
    return NO_SPAN if _recorder is None else _recorder.open(name, kind, attributes, carrier)


def headers() -> dict[str, str]:
    """The headers by which another process records its spans below the current one; empty while this process records none."""
    return {} if _recorder is None else _recorder.headers()


def each(name: str, items: Iterable[T]) -> Iterator[T]:
    """The items, with a span around the making of each; the span of the end, which makes none, is there as well."""
    iterator = iter(items)
    try:
        while True:
            with span(name):
                try:
                    item = next(iterator)
                except StopIteration:
                    return
            yield item
    finally:
        if isinstance(iterator, Generator):
            iterator.close()  # in the thread that reads, as soon as it stops


class Steps:
    """The spans of steps that follow one another without gaps, each named by the code that ends it."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._open = NO_SPAN

    def __enter__(self) -> Steps:
        self._open = span(f"{self._prefix}.{_REST}").__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, where)

    def end(self, name: str) -> None:
        """End the step, which was `name`, and begin the next one."""
        if self._open is NO_SPAN:
            return
        self._open.rename(f"{self._prefix}.{name}")
        self._open.__exit__(None, None, None)
        self._open = span(f"{self._prefix}.{_REST}").__enter__()


NO_STEPS: Final = Steps("")
"""Steps that are not recorded: never entered."""


def is_on() -> bool:
    """Whether this process records spans."""
    return _recorder is not None


def check_setting(address: str) -> str:
    """The address of the collector that the setting `traces` names, with its path; empty if it is off.

    Raises `InvalidInput` for what is no address, and where the libraries are not installed.
    """
    if not address:
        return ""
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidInput(
            f"MEDLEY_TRACES takes the address of a collector, such as http://host:4318, not {address[:100]!r}",
            field="MEDLEY_TRACES",
        )
    try:
        import search.tracing.otlp  # noqa: F401 - only where traces are on
    except ImportError as error:
        raise InvalidInput(
            f"MEDLEY_TRACES needs the extra 'traces': pip install 'medley[traces]' ({error})", field="MEDLEY_TRACES"
        ) from error
    return address if parts.path.strip("/") else address.rstrip("/") + _PATH


def start(address: str, service: str) -> None:
    """Record the spans of this process as `service`, and send them to `address`; "" changes nothing.

    Call it in the process itself, after any fork. Raises as `check_setting` does.
    """
    global _recorder
    if not (endpoint := check_setting(address)):
        return
    from search.tracing.otlp import OtlpRecorder

    stop()
    _recorder = OtlpRecorder(endpoint, service)


def stop() -> None:
    """Stop recording; spans that are not sent yet have a few seconds to be."""
    global _recorder
    recorder, _recorder = _recorder, None
    if recorder is not None:
        recorder.stop()
