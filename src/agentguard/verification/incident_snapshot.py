"""The incidents of a tool as plain data and back, so that a process that is killed loses none of them.

What was seen of each, and the verdicts by which the same call is known again; by digests, as everywhere. The calls that
are held back are left out: they have arguments and results, which no store is given.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, get_args

from agentguard.errors import DataError

from .changes import STATES, Change
from .count_checks import MAX_COUNT
from .incidents import MAX_INCIDENTS, MAX_SAME, MAX_SESSIONS, MAX_TRAITS, Incident, Incidents, _Same
from .snapshot import decode, encode
from .types import Verdict

__all__ = ["FIELDS", "encode_incidents", "follow_changes", "incident_of", "restore_incidents"]

#: What is kept of an incident: all but the calls that are held back.
FIELDS: Final = (
    "id", "traits", "what", "verdict", "state", "reviewed", "calls", "blocked", "between", "runs", "run", "misses",
    "sessions", "told", "modes",
)  # fmt: skip
_VERDICTS: Final = get_args(Verdict)


def encode_incidents(incidents: Incidents) -> Any:
    """Encode incidents for ``restore_incidents``; None where there is nothing to keep.

    >>> encode_incidents(Incidents())
    """
    kept = [_fields(incident) for incident in incidents]
    if not kept:
        return None
    same = [
        (*key, one.incident.id, one.verdict, one.posterior, one.session, one.asked)
        for key, one in incidents._same.items()
        if incidents.find(one.incident.id) is one.incident
    ]
    return encode({"incidents": kept, "same": same})


def restore_incidents(incidents: Incidents, data: Any) -> None:
    """Take in what ``encode_incidents`` gave; what is known here already stays as it is.

    Raises:
        DataError: where it is nothing of the kind; nothing is taken in then.
    """
    try:
        kept = decode(data)
        found = [_incident(fields) for fields in kept["incidents"][-MAX_INCIDENTS:]]
        by_id = {incident.id: incident for incident in found}
        same = [_same(*fields, by_id=by_id) for fields in kept["same"][-MAX_SAME:]]
    except DataError:
        raise
    except Exception as error:
        raise DataError(f"its incidents cannot be read: {type(error).__name__}") from None
    for incident in found:
        if incidents.find(incident.id) is None:
            incidents.remember(incident)
    for key, one in same:
        if incidents.find(one.incident.id) is one.incident:
            incidents._same[key] = one


def follow_changes(incidents: Incidents, changes: Iterable[Change]) -> None:
    """Go along with what the log of changes says beyond what was restored."""
    for change in changes:
        incident = incidents.find(change.id)
        if incident is None:
            if change.state != "mode":
                incidents.remember(incident_of(change))
            continue
        incident.told = True
        incident.reviewed = change.reviewed
        if incident.state != change.state:
            incidents.decide(incident, change.state, reviewed=change.reviewed)
            incident.run = int(change.state == "open")


def incident_of(change: Change) -> Incident:
    """The incident that a change on record is, to be gone on with."""
    incident = Incident(change.id, change.traits, change.what, "flag")
    incident.state, incident.reviewed, incident.told = change.state, change.reviewed, True
    incident.run = incident.runs = int(change.state == "open")
    return incident


def _fields(incident: Incident) -> dict[str, Any]:
    """The fields of an incident that are kept, always in the same order."""
    fields = {name: getattr(incident, name) for name in FIELDS}
    return {**fields, "sessions": sorted(incident.sessions, key=lambda session: (session is not None, session or ""))}


def _incident(fields: Any) -> Incident:
    id_, traits, what, verdict = fields["id"], fields["traits"], fields["what"], fields["verdict"]
    texts = all(isinstance(text, str) for text in (id_, what, *traits))
    if not texts or len(traits) > MAX_TRAITS or verdict not in _VERDICTS or fields["state"] not in STATES:
        raise ValueError("an incident is damaged")
    incident = Incident(id_, tuple(traits), what, verdict)
    for name in FIELDS:
        if name in fields:  # what a later version has besides stands as it is at first
            value, fresh = fields[name], getattr(incident, name)
            if name == "sessions" and type(value) is list:
                value = {session for session in value if session is None or type(session) is str}
            if type(value) is not type(fresh) or (type(value) is int and not 0 <= value <= MAX_COUNT):
                raise ValueError("an incident is damaged")
            setattr(incident, name, value)
    if len(incident.sessions) > MAX_SESSIONS or incident.blocked > incident.calls:
        raise ValueError("an incident is damaged")
    return incident


def _same(
    key: Any, digest: Any, id_: Any, verdict: Any, posterior: Any, session: Any, asked: Any, *, by_id: Any
) -> tuple[tuple[bytes, int], _Same]:
    sound = type(key) is bytes and type(digest) is int and type(posterior) is float and type(asked) is int
    sound = sound and 0.0 <= posterior <= 1.0 and 0 <= asked <= MAX_COUNT
    if not sound or verdict not in _VERDICTS or not (session is None or type(session) is str):
        raise ValueError("a call is damaged")
    one = _Same(verdict, posterior, by_id[id_], session)
    one.asked = asked
    return (key, digest), one
