"""Bring trusted documents into an index: read what is new or has changed, and leave the rest alone.

Documents are written some at a time, each as a whole: an ingest that is interrupted has lost a few seconds of work, and
the next one goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol

from agentguard.errors import AgentGuardError, ConfigurationError, DataError, GateError
from agentguard.gate._config import GateConfig, HttpSource, LocalSource, Source
from agentguard.gate._types import Document
from agentguard.gate.documents._chunking import Chunking, chunk_document
from agentguard.gate.documents._local import list_local, local_uri
from agentguard.gate.documents._quarantine import Quarantine
from agentguard.gate.documents._sandbox import Reader
from agentguard.gate.documents._text import (
    ENDINGS,
    MAX_CHARACTERS,
    Cleaned,
    Found,
    Kind,
    Listing,
    Raw,
    clean_text,
    kind_of,
)
from agentguard.gate.evidence._index import Embeddings, EvidenceIndex, Indexed, Vector, embedder_name


def kind_of_document(name: str, raw: Raw, chosen: bool = False) -> Kind:
    """Decide which kind a document is read as.

    Args:
        name: Of its file.
        raw: What was fetched.
        chosen: Whether an unknown kind is read as text, for the configuration names it.

    Raises:
        DataError: If it is of no kind that is read.
    """
    if raw.data[:5] == b"%PDF-":
        return "pdf"
    kind = kind_of(name, raw.media_type) or ("text" if chosen else None)
    if kind is None:
        media = f" ({raw.media_type[:60]})" if raw.media_type else ""
        raise DataError(f"is of no kind that is read{media}: {', '.join(ENDINGS)}")
    return kind


def clean(kind: Kind, raw: Raw, reader: Reader) -> Cleaned:
    """Clean a document into the form that ``Document.text`` describes; empty if it has no text.

    Text is read here, in time that is in proportion to its length. Of the libraries for the other kinds that cannot be
    said: ``reader`` ends them when their time is up.

    Raises:
        DataError: If it cannot be read, or is too large.
        ConfigurationError: If a library is missing.
    """
    cleaned = clean_text(raw.data, raw.charset) if kind == "text" else reader.read(kind, raw.data, raw.charset)
    if len(cleaned.text) > MAX_CHARACTERS:
        raise DataError(f"has {len(cleaned.text):,} characters of text, and at most {MAX_CHARACTERS:,} are read")
    return cleaned._replace(title=cleaned.title[:500])


# --- Sources ---


def list_source(source: Source, folder: Path, roots: Sequence[Path] = ()) -> Iterator[Listing]:
    """List the documents of a declared source.

    Args:
        source: A record of the configuration.
        folder: The configuration's.
        roots: Further folders that local documents may lie in.

    Raises:
        ConfigurationError: If a library is missing, or the source must not be read.
    """
    if isinstance(source, LocalSource):
        return list_local(source, folder, roots)
    if isinstance(source, HttpSource):
        try:
            from agentguard.gate.documents._http import list_http
        except ImportError:
            raise ConfigurationError(
                "sources of type http need the package httpx: pip install 'agentguard[gate]'"
            ) from None
        return list_http(source)
    try:
        from agentguard.gate.documents._s3 import list_s3
    except ImportError:
        raise ConfigurationError("sources of type s3 need the package boto3: pip install 'agentguard[s3]'") from None
    return list_s3(source)


def name_of(source: Source) -> str:
    """Name of a source in messages."""
    if isinstance(source, LocalSource):
        return source.path
    if isinstance(source, HttpSource):
        return ", ".join(source.addresses[:3]) + (", …" if len(source.addresses) > 3 else "")
    return f"s3://{source.bucket}/{source.prefix}"


def holds(source: Source, folder: Path, uri: str) -> bool:
    """Whether a document would come from a source, by its uri: what a source that cannot be listed may still hold."""
    if isinstance(source, LocalSource):
        base = local_uri(folder / source.path, folder)
        return uri == base or uri.startswith(f"{base}/") or (base == "." and "://" not in uri)
    if isinstance(source, HttpSource):
        return uri in source.addresses
    return uri.startswith(f"s3://{source.bucket}/{source.prefix}")


# --- Ingest ---

Outcome = Literal["added", "changed", "unchanged", "removed", "failed", "quarantined"]

#: Raised when cleaning or chunking changes what it makes of the same bytes, so that every document is read again.
_VERSION: Final = 3
#: How many chunks are embedded in one request.
_BATCH: Final = 64
#: How many chunks are written in one transaction, and how long one waits for others: what an interruption may cost.
_WRITTEN: Final = 500
_WAITING_SECONDS: Final = 2.0


class IngestServices(Protocol):
    """Services that an ingest works with."""

    @property
    def embeddings(self) -> Embeddings:
        """Makes the vectors."""

    @property
    def evidence(self) -> EvidenceIndex:
        """Takes the documents."""


class IngestStep(NamedTuple):
    """Progress of an ingest: one document is done.

    Attributes:
        done, total: How many of how many; the first step of an ingest, with an empty uri, is the listing itself.
        uri: The document.
        outcome: What became of it; ``failed`` where it could not be read, and what was indexed of it stays;
            ``quarantined`` where it holds instructions to a model, and nothing is indexed of it.
    """

    done: int
    total: int
    uri: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class IngestReport:
    """Outcome of an ingest.

    Attributes:
        added, changed, unchanged, removed: How many documents.
        chunks: How many were written.
        problems: What somebody should look at, as (uri, message): what could not be read or listed (what is indexed
            of it was left alone), and what was read with doubts.
        skipped: What no document is made of by a rule: hidden files, links to folders, kinds that are not read.
        quarantined: Documents that hold instructions to a model, with what gives these away; none of them is indexed.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    chunks: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    quarantined: tuple[tuple[str, str], ...] = ()


class _Listed(NamedTuple):
    documents: dict[str, Found]
    incomplete: list[Source]
    problems: list[tuple[str, str]]
    skipped: list[tuple[str, str]]


def ingest(
    config: GateConfig,
    services: IngestServices,
    *,
    progress: Callable[[IngestStep], None] | None = None,
    roots: Sequence[Path] = (),
) -> IngestReport:
    """Bring the index in line with the documents that a configuration trusts.

    A document is read again where its bytes, the way of cutting it, or the model of its vectors have changed. It is
    removed where no source lists it any longer; a source that could not be listed completely loses none. A document
    that is listed and cannot be read keeps what was indexed of it; one that holds no text any longer, or instructions
    to a model, does not.

    Args:
        config: The sources, their folder, and how documents are cut.
        services: The index, and the vectors' maker.
        progress: Called after each document.
        roots: Folders beside the configuration's that local documents may lie in.

    Raises:
        ConfigurationError: If no source holds a document, one must not be read, or a library is missing.
        GateError: If no document at all could be read, or vectors could not be had.
        StoreError: If the index cannot be written.
    """
    chunking = Chunking(**config.chunking.model_dump())
    folder = config.folder.absolute()
    listed = _list(config, folder, [Path(root).absolute() for root in roots])
    indexed = dict(services.evidence.documents())
    left = {uri for uri, _ in listed.problems}
    gone = [
        uri
        for uri in indexed
        if not (uri in listed.documents or uri in left or any(holds(at, folder, uri) for at in listed.incomplete))
    ]
    tell = progress or (lambda step: None)
    tell(IngestStep(0, len(listed.documents) + len(gone), "", "unchanged"))
    problems, outcomes, chunks = listed.problems, Counter[Outcome](), 0
    # The end of a digest, by which it is known whose vectors the index holds of a document.
    embedder = hashlib.blake2b(embedder_name(services.embeddings).encode("utf-8", "replace"), digest_size=4).hexdigest()
    # An index holds the vectors of one model. Those of another go when the first document with new ones is ready.
    foreign = [uri for uri, digest in indexed.items() if not digest.endswith(embedder)]
    written: set[str] = set()
    quarantined: list[tuple[str, str]] = []
    with Reader() as reader:
        worker = _Worker(services, reader, chunking, embedder, list(foreign), Quarantine(config.documents))
        try:
            for number, listing in enumerate(listed.documents.values(), 1):
                taken = worker.take(listing, indexed.get(listing.uri))
                outcomes[taken.outcome] += 1
                chunks += taken.chunks
                noted = quarantined if taken.outcome == "quarantined" else problems
                noted += [(listing.uri, note) for note in taken.notes]
                if taken.chunks:
                    written.add(listing.uri)
                if taken.barred and listing.uri in indexed:
                    gone.append(listing.uri)
                tell(IngestStep(number, len(listed.documents) + len(gone), listing.uri, taken.outcome))
        except BaseException:
            with suppress(AgentGuardError):  # the first error is the one to tell
                worker.flush()
            raise
        worker.flush()
    if outcomes.total() == outcomes["failed"]:
        _refuse(config, listed)
    lost = [] if worker.foreign else [uri for uri in foreign if uri not in written and uri not in gone]
    problems += [(uri, "is removed: its vectors were another model's, and it could not be read again") for uri in lost]
    gone += lost
    for number, uri in enumerate(gone, len(listed.documents) + 1):
        services.evidence.remove([uri])
        outcomes["removed"] += 1
        tell(IngestStep(number, len(listed.documents) + len(gone), uri, "removed"))
    return IngestReport(
        added=outcomes["added"],
        changed=outcomes["changed"],
        unchanged=outcomes["unchanged"],
        removed=outcomes["removed"],
        chunks=chunks,
        problems=tuple(problems),
        skipped=tuple(listed.skipped),
        quarantined=tuple(quarantined),
    )


def _list(config: GateConfig, folder: Path, roots: Sequence[Path]) -> _Listed:
    listed = _Listed({}, [], [], [])
    for source in config.doc_sources:
        complete = True
        for listing in list_source(source, folder, roots):
            if isinstance(listing, Found):
                listed.documents.setdefault(listing.uri, listing)
                continue
            complete = complete and listing.kind != "unlisted"
            (listed.skipped if listing.kind == "skipped" else listed.problems).append((listing.uri, listing.reason))
        if not complete:
            listed.incomplete.append(source)
    return listed


def _refuse(config: GateConfig, listed: _Listed) -> None:
    """Nothing was read: the index stays as it is, rather than being emptied by a wrong path."""
    sources = "; ".join(name_of(source) for source in config.doc_sources)
    if listed.problems:
        reasons = "; ".join(f"{uri}: {reason}" for uri, reason in listed.problems[:5])
        more = len(listed.problems) - 5
        reasons += f"; and {more} more" * (more > 0)
        raise GateError(f"no trusted document could be read from {sources} ({reasons})")
    hint = ""
    if listed.skipped:
        uri, reason = listed.skipped[0]
        hint = f" ({len(listed.skipped)} skipped: {uri} {reason})"
    raise ConfigurationError(
        f"there is no trusted document in {sources}{hint}: put documents there, or mend doc_sources (path, include, "
        "prefix); what is indexed was left alone"
    )


class _Taken(NamedTuple):
    outcome: Outcome
    chunks: int = 0
    notes: tuple[str, ...] = ()
    barred: bool = False


@dataclass(slots=True)
class _Worker:
    services: IngestServices
    reader: Reader
    chunking: Chunking
    embedder: str
    foreign: list[str]
    quarantine: Quarantine
    waiting: list[Indexed] = field(default_factory=list)
    due: float = 0.0  # when what waits is written, whatever there is of it

    def take(self, listing: Found, before: str | None) -> _Taken:
        """Read a document and, unless its digest is the one before, index it."""
        try:
            raw = listing.read()
            kind = kind_of_document(listing.name, raw, listing.chosen)
            # All that decides, beside its bytes, what becomes of it in the index.
            guarded = self.quarantine.guards(listing.uri)
            recipe = f"{_VERSION}\0{self.chunking}\0{kind}\0{raw.charset}\0{guarded}\0".encode()
            digest = hashlib.blake2b(recipe + raw.data, digest_size=16).hexdigest() + self.embedder
            if digest == before:
                return _Taken("unchanged")
            cleaned = clean(kind, raw, self.reader)
        except DataError as error:
            return _Taken("failed", 0, (str(error),))
        del raw
        document = Document(listing.uri, cleaned.title or listing.name, cleaned.text, digest)
        chunks = chunk_document(document, self.chunking)
        if not chunks:
            return _Taken("failed", 0, (*cleaned.notes, "holds no text"), barred=True)
        fault = next(filter(None, (self.quarantine.fault(listing.uri, chunk.text) for chunk in chunks)), "")
        if fault:
            return _Taken("quarantined", 0, (fault,), barred=True)
        vectors = self._vectors([chunk.text for chunk in chunks], listing.uri)
        if self.foreign:
            self.services.evidence.remove(self.foreign)
            self.foreign.clear()
        self.waiting.append(Indexed(document, chunks, vectors))
        if sum(len(each.chunks) for each in self.waiting) >= _WRITTEN or time.monotonic() >= self.due:
            self.flush()
        return _Taken("added" if before is None else "changed", len(chunks), cleaned.notes)

    def flush(self) -> None:
        """Write what waits: as one transaction, where the index has such."""
        waiting, self.waiting[:] = list(self.waiting), []
        self.due = time.monotonic() + _WAITING_SECONDS
        together: Callable[[Sequence[Indexed]], None] | None = getattr(self.services.evidence, "replace_all", None)
        if together is not None and waiting:
            together(waiting)
            return
        for each in waiting:
            self.services.evidence.replace(*each)

    def _vectors(self, texts: list[str], uri: str) -> list[Vector]:
        vectors: list[Vector] = []
        for at in range(0, len(texts), _BATCH):
            batch = texts[at : at + _BATCH]
            try:
                made = self.services.embeddings.embed_documents(batch)
            except AgentGuardError:
                raise
            except Exception as error:  # every provider's client has errors of its own
                raise GateError(
                    f"no vectors for {uri}: {type(error).__name__}: {str(error)[:300]}; what was indexed so far is "
                    "kept, and the next ingest goes on from there"
                ) from error
            if len(made) != len(batch):
                raise GateError(f"the embeddings made {len(made)} vectors of {len(batch)} texts of {uri}")
            vectors += made
        return vectors
