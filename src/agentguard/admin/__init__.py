"""Administration of a store: an overview, the portrait of a tool in figures, and export and import as a file."""

from agentguard.admin._overview import Overview, ToolOverview, overview
from agentguard.admin._portrait import Portrait, portrait
from agentguard.admin._transfer import Export, Imported, import_state

__all__ = ["Export", "Imported", "Overview", "Portrait", "ToolOverview", "import_state", "overview", "portrait"]
