"""What Prefect's server does by itself: it ends runs that say nothing more, and tells another system of retrainings.

`prefect-dvc deploy --webhook URL`: the server sends the event at the end of each retraining to the address, as JSON:
{"event": ..., "artifact": ..., "decision": ..., "reason": ...}, and in the same form that one was killed.
"""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from prefect.automations import Automation
from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import StateType
from prefect.events.actions import CallWebhook, ChangeFlowRunState
from prefect.events.schemas.automations import EventTrigger, Posture
from pydantic import SecretStr

RUNS = "prefect.flow-run.*"
BLOCK = "prefect-dvc-retraining"
TEXT = (
    '{"event": {{ event.event | tojson }}, "artifact": {{ event.resource.id | tojson }}, '
    '"decision": {{ event.payload.decision | tojson }}, "reason": {{ event.payload.reason | tojson }}}'
)
CRASH = (
    '{"event": {{ event.event | tojson }}, "artifact": null, "decision": "Crashed", '
    '"reason": {{ ("The process of the flow run " ~ event.resource.name ~ " has ended.") | tojson }}}'
)


def watch_heartbeats(seconds: float) -> None:
    """Mark a run Crashed after so many seconds without a heartbeat: nothing else would."""
    silence = EventTrigger(
        after={"prefect.flow-run.heartbeat"},
        expect={RUNS},  # runs end in states of many names: Completed, Promoted, Refused
        match={"prefect.resource.id": [RUNS]},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )
    message = "No heartbeat: its process or its machine is gone."
    _set("Crash runs without a heartbeat", silence, ChangeFlowRunState(state=StateType.CRASHED, message=message))


def call_webhook(url: str) -> None:
    """Call `url` after each retraining. It takes POST with JSON, may be of a private network, and is kept encrypted."""
    headers: Any = {"Content-Type": "application/json"}
    block = Webhook(method="POST", url=SecretStr(url), headers=headers, allow_private_urls=True)
    number = cast(UUID, block.save(BLOCK, overwrite=True))  # a coroutine in an async caller
    flow = {"prefect.resource.role": "flow", "prefect.resource.name": "retrain"}
    for name, event, resource, related, text in (
        ("Tell of retrainings", "prefect-dvc.retraining.*", "prefect-dvc.artifact.*", {}, TEXT),
        ("Tell of crashed retrainings", "prefect.flow-run.Crashed", RUNS, flow, CRASH),
    ):
        options: Any = {"expect": {event}, "match": {"prefect.resource.id": [resource]}, "match_related": related}
        trigger = EventTrigger(posture=Posture.Reactive, threshold=1, within=timedelta(0), **options)
        _set(name, trigger, CallWebhook(block_document_id=number, payload=text))


def _set(name: str, trigger: EventTrigger, action: CallWebhook | ChangeFlowRunState) -> None:
    """Create an automation, in the place of one of an earlier deployment."""
    with get_client(sync_client=True) as client:
        for before in client.read_automations_by_name(name):
            client.delete_automation(before.id)
    Automation(name=name, trigger=trigger, actions=[action]).create()
