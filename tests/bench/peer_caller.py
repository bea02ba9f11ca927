"""One calling process of the peer: a workflow under its own id, alone and with one step.

It runs in the peer's environment, where nothing of ours can be imported but what needs the standard library
alone.
"""

import os

from dbos import DBOS, SetWorkflowID

from tests.bench import loop, offer

DBOS(
    config={
        "name": "bench",
        "system_database_url": os.environ["BENCH_PEER_URL"],
        "sys_db_pool_size": 2,
        # Each is an executor of its own: none takes another's work for abandoned.
        "executor_id": f"caller-{os.getpid()}",
        "log_level": "ERROR",
        "run_admin_server": False,
    }
)


@DBOS.step()
def effect(payload: dict[str, str]) -> str:
    """Do what would be done."""
    return offer.REFERENCE


@DBOS.workflow()
def alone(payload: dict[str, str]) -> str:
    """Be claimed and completed: two durable commits."""
    return offer.REFERENCE


@DBOS.workflow()
def stepped(payload: dict[str, str]) -> str:
    """Be claimed, do one step, be completed: three durable commits."""
    return effect(payload)


WORKFLOWS = {"peer": alone, "peer with a step": stepped}


def make(name: str) -> loop.Unit:
    """Return what does one unit of this kind of work."""
    workflow = WORKFLOWS[name]

    def unit(key: str) -> None:
        with SetWorkflowID(key):
            assert workflow(offer.PAYLOAD) == offer.REFERENCE

    return unit


if __name__ == "__main__":
    DBOS.launch()
    loop.serve(make)
    DBOS.destroy()
