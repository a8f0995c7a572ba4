"""Tell another system of retrainings: `prefect-dvc deploy --webhook URL`.

Each retraining ends in an event, prefect-dvc.retraining.promoted, .refused, .not-promoted, .skipped, .failed, others.
The server sends every one to the address, as JSON: {"event": ..., "artifact": ..., "decision": ..., "reason": ...}.
A retraining that was killed emits nothing itself; the server sends that its flow run has crashed, in the same form.
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

EVENTS = "prefect-dvc.retraining.*"
NAME = "Tell of retrainings"
CRASHED, CRASHES = "prefect.flow-run.Crashed", "Tell of crashed retrainings"
FLOW = "retrain"
BLOCK = "prefect-dvc-retraining"
TEXT = (
    '{"event": {{ event.event | tojson }}, "artifact": {{ event.resource.id | tojson }}, '
    '"decision": {{ event.payload.decision | tojson }}, "reason": {{ event.payload.reason | tojson }}}'
)
CRASH = (
    '{"event": {{ event.event | tojson }}, "artifact": null, "decision": "Crashed", '
    '"reason": {{ ("The process of the flow run " ~ event.resource.name ~ " has ended.") | tojson }}}'
)


def call_webhook(url: str) -> None:
    """Create the automations that call `url` after each retraining, or give them a new address.

    It takes POST with JSON, may be that of a private network, and is kept encrypted.
    """
    headers: Any = {"Content-Type": "application/json"}
    block = Webhook(method="POST", url=SecretStr(url), headers=headers, allow_private_urls=True)
    number = cast(UUID, block.save(BLOCK, overwrite=True))  # a coroutine in an async caller
    flow = {"prefect.resource.role": "flow", "prefect.resource.name": FLOW}
    for name, trigger, text in (
        (NAME, _trigger(EVENTS, "prefect-dvc.artifact.*"), TEXT),
        (CRASHES, _trigger(CRASHED, "prefect.flow-run.*", flow), CRASH),
    ):
        with get_client(sync_client=True) as client:
            if not client.read_automations_by_name(name):
                call = CallWebhook(block_document_id=number, payload=text)
                Automation(name=name, trigger=trigger, actions=[call]).create()


def _trigger(event: str, resource: str, related: dict[str, str] | None = None) -> EventTrigger:
    options: Any = {"match": {"prefect.resource.id": [resource]}, "match_related": related or {}}
    return EventTrigger(expect={event}, posture=Posture.Reactive, threshold=1, within=timedelta(0), **options)
