"""Tell another system of retrainings: `python -m flows.deploy --webhook URL`.

Each retraining ends in an event, distillery.retraining.promoted, .refused, .not-promoted, .skipped, .failed and others.
The server sends every one to the address, as JSON: {"event": ..., "artifact": ..., "decision": ..., "reason": ...}.
"""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from prefect.automations import Automation
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.events.actions import CallWebhook
from prefect.events.schemas.automations import EventTrigger, Posture
from pydantic import SecretStr

EVENTS = "distillery.retraining.*"
NAME = "Tell of retrainings"
BLOCK = "distillery-retraining"
TEXT = (
    '{"event": {{ event.event | tojson }}, "artifact": {{ event.resource.id | tojson }}, '
    '"decision": {{ event.payload.decision | tojson }}, "reason": {{ event.payload.reason | tojson }}}'
)


def call_webhook(url: str) -> None:
    """Create the automation that calls `url` after each retraining, or give it a new address.

    Args:
        url: An address that takes POST with JSON, also one of a private network; it is kept encrypted.

    Example:
        >>> call_webhook("https://chat.example.org/hooks/4711")  # doctest: +SKIP
    """
    headers: Any = {"Content-Type": "application/json"}
    block = Webhook(method="POST", url=SecretStr(url), headers=headers, allow_private_urls=True)
    number = cast(UUID, block.save(BLOCK, overwrite=True))  # a coroutine in an async caller
    ended = EventTrigger(
        expect={EVENTS},
        match={"prefect.resource.id": ["distillery.artifact.*"]},
        posture=Posture.Reactive,
        threshold=1,
        within=timedelta(0),
    )
    with get_client(sync_client=True) as client:
        if not client.read_automations_by_name(NAME):
            Automation(name=NAME, trigger=ended, actions=[CallWebhook(block_document_id=number, payload=TEXT)]).create()
