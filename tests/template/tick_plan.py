"""Runs the state machine that plans ticks, by moto's interpreter, under a clock that the caller moves.

Standard input: {"definition": …, "steps": [{"clock": …, "start": [{"scheduled_time": …}], "until": 8}], "refused": [[function, instant]]}
A step sets the clock, starts executions and waits until so many invocations have been asked for altogether.
Standard output: {"invocations": [{"function", "type", "planned_at", "at"}], "executions": ["SUCCEEDED"]}

Of moto, replaced are only: the clock of Wait, the evaluation of JSONata (moto has none) and the client that invokes functions.
"""

import datetime
import io
import json
import logging
import sys
import threading
import time

import boto3
import jsonata
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_lambda
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.jsonata import jsonata as moto_jsonata

# How long anything may take that does not wait for the clock, in seconds. Reaching it is a failure that the caller sees.
PATIENCE = 60


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class World:
    """The clock, and what has been asked for under it."""

    def __init__(self, refused):
        self.changed = threading.Condition()
        self.clock = None
        self.invocations = []
        self.refused = {(function, instant(planned_at)) for function, planned_at in refused}

    def set_clock(self, now):
        with self.changed:
            self.clock = now
            self.changed.notify_all()

    def wait_for_clock(self, target):
        with self.changed:
            self.changed.wait_for(lambda: self.clock >= target)

    def until_invoked(self, count):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.invocations) >= count, timeout=PATIENCE)

    def invoke(self, FunctionName, InvocationType, Payload):
        planned_at = json.loads(Payload)["planned_at"]
        with self.changed:
            asked = {"function": FunctionName, "type": InvocationType, "planned_at": planned_at, "at": self.clock.isoformat()}
            self.invocations.append(asked)
            self.changed.notify_all()
        if (FunctionName, instant(planned_at)) in self.refused:
            error = {"Error": {"Code": "TooManyRequestsException", "Message": "Rate exceeded"},
                     "ResponseMetadata": {"HTTPStatusCode": 429, "RequestId": "0"}}
            raise ClientError(error, "Invoke")
        return {"StatusCode": 202, "Payload": io.BytesIO(b"")}


def replace_parts_of_moto(world):
    def wait(self, env):
        self.string.eval(env=env)
        world.wait_for_clock(instant(env.stack.pop()))

    Timestamp._eval_body = wait
    # Through JSON: the evaluator's own lists and numbers are no plain ones.
    moto_jsonata._eval_jsonata = lambda expression: json.loads(json.dumps(jsonata.Jsonata(expression).evaluate(None)))
    # Step Functions documents InvocationType; moto leaves it away.
    state_task_service_lambda._SUPPORTED_API_PARAM_BINDINGS["invoke"].add("InvocationType")
    lambda_eval_utils.boto_client_for = lambda **_which: world


def run(scenario):
    world = World(scenario["refused"])
    replace_parts_of_moto(world)
    client = boto3.client("stepfunctions", region_name="eu-central-1", aws_access_key_id="test", aws_secret_access_key="test")
    machine = client.create_state_machine(
        name="tick-plan", definition=json.dumps(scenario["definition"]), roleArn="arn:aws:iam::123456789012:role/tick-plan"
    )["stateMachineArn"]
    executions = []
    for step in scenario["steps"]:
        world.set_clock(instant(step["clock"]))
        for event in step["start"]:
            started = client.start_execution(stateMachineArn=machine, name=f"run-{len(executions)}", input=json.dumps(event))
            executions.append(started["executionArn"])
        if not world.until_invoked(step["until"]):
            break
    return {"invocations": world.invocations, "executions": [ended(client, execution) for execution in executions]}


def ended(client, execution):
    """How an execution ended, or RUNNING where it does not end."""
    deadline = time.monotonic() + PATIENCE
    while True:
        status = client.describe_execution(executionArn=execution)["status"]
        if status != "RUNNING" or time.monotonic() > deadline:
            return status
        time.sleep(0.05)


logging.disable(logging.CRITICAL)
with mock_aws(config={"stepfunctions": {"execute_state_machine": True}}):
    print(json.dumps(run(json.load(sys.stdin))))
