"""How a stage of a run ends."""

from enum import StrEnum

from prefect_dvc.errors import Refusal


class Outcome(StrEnum):
    """The outcome of a stage that is up to date; MEANING explains each."""

    CACHED = "Cached"
    RESTORED = "Restored"
    PULLED = "Pulled"
    UPDATED = "Updated"
    RAN = "Ran"
    RAN_ON_GPU = "Ran on GPU worker"


MEANING = {
    Outcome.CACHED: "nothing has changed, and its outputs are those of dvc.lock",
    Outcome.RESTORED: "an earlier run had the same inputs; its outputs came from DVC's cache",
    Outcome.PULLED: "its outputs came from the DVC remote",
    Outcome.UPDATED: "its data had changed; DVC's cache and its .dvc file or dvc.lock have the new one",
    Outcome.RAN: "its command ran",
    Outcome.RAN_ON_GPU: "its command ran on a GPU worker, and its outputs came back through the remote",
}


class StageError(Refusal):
    """A stage ended with an error; the message has its last lines."""
