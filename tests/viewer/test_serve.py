"""The socket for other programs: the protocol of docs/viewer.md, what it refuses, and the client of that page."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import jaxsim
from jaxsim import models
from jaxsim.viewer.serve import Server
from jaxsim.viewer.session import Session

client = pytest.importorskip("websockets.sync.client")
exceptions = pytest.importorskip("websockets.exceptions")

PAGE = (Path(__file__).parents[2] / "docs" / "viewer.md").read_text()

SCENE = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody>
<body name="ball"><freejoint/><geom size="0.1" mass="2"/></body>
<body name="hand" mocap="true"><geom size="0.05" contype="0" conaffinity="0"/></body>
<body name="arm" pos="2 0 0"><joint name="hinge" axis="0 1 0"/><geom size="0.1"/></body>
</worldbody><actuator><motor name="turn" joint="hinge"/></actuator>
<keyframe><key name="bent" qpos="0 0 0 1 0 0 0 0.5"/></keyframe></mujoco>"""


@pytest.fixture(scope="module")
def session():
    return Session(jaxsim.load_model(SCENE), 2)


@pytest.fixture(scope="module")
def server(session):
    served = Server(session, port=0)
    yield served
    served.stop()


class Client:
    def __init__(self, server, **options):
        self.socket = client.connect(f"ws://127.0.0.1:{server.port}", proxy=None, **options)

    def __enter__(self):
        self.socket.__enter__()
        return self

    def __exit__(self, *args):
        self.socket.__exit__(*args)

    def receive(self):
        return json.loads(self.socket.recv(timeout=60))

    def ask(self, **message):
        self.socket.send(json.dumps(message))
        return self.receive()


def test_state_out_and_commands_in(server, session):
    with Client(server) as c:
        model = c.receive()
        assert (model["type"], model["version"], model["worlds"], model["nu"]) == ("model", 1, 2, 1)
        assert model["bodies"][1:] == ["ball", "hand", "arm"]
        assert model["actuators"] == ["turn"]
        assert c.ask(type="reset", keyframe="bent", id=7) == {"type": "ok", "id": 7}
        assert c.ask(type="get", fields=["qpos"])["qpos"][7] == 0.5
        c.ask(type="ctrl", values=[0.25], world=1)
        c.ask(type="push", body="ball", force=[3.0, 0, 0], world=0)
        c.ask(type="mocap", body="hand", pos=[0, 1, 0])
        c.ask(type="step", count=10)
        state = c.ask(type="get", fields=["time", "qvel", "ctrl", "mocap_pos", "xpos"])
        assert state["time"] == pytest.approx(0.1)
        assert state["qvel"][0] == pytest.approx(3.0 / 2 * 0.1, rel=1e-5)
        assert state["ctrl"] == [0.0]
        assert state["mocap_pos"] == [[0.0, 1.0, 0.0]]
        assert c.ask(type="get", fields=["ctrl"], world=1)["ctrl"] == [0.25]
        c.ask(type="reset")
        c.ask(type="pull", body=1, point=[0, 0, 1])
        c.ask(type="step", count=200)
        c.ask(type="release")
        assert c.ask(type="get")["qpos"][2] == pytest.approx(1.0, abs=1e-3)
        c.ask(type="subscribe", fields=["time"], rate=100)
        c.socket.send(json.dumps({"type": "play", "speed": 2.0}))
        kinds = {c.receive()["type"] for _ in range(10)}
        assert kinds == {"ok", "state"}
        assert session.playing
        assert session.speed == 2.0
    session.playing, session.speed = False, 1.0


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "fly"}, "unknown type 'fly'"),
        ({}, "unknown type None"),
        ({"type": "ctrl"}, "needs values"),
        ({"type": "ctrl", "values": [1, 2]}, "expected [1]"),
        ({"type": "ctrl", "values": ["a"]}, "numbers"),
        ({"type": "ctrl", "values": [float("nan")]}, "finite"),
        ({"type": "ctrl", "values": [1], "world": 2}, "there are 2"),
        ({"type": "push", "body": "nobody"}, "nobody"),
        ({"type": "pull", "body": 99, "point": [0, 0, 0]}, "99"),
        ({"type": "mocap", "body": "ball", "pos": [0, 0, 0]}, "no mocap body"),
        ({"type": "get", "fields": ["efc_J"]}, "no field 'efc_J'"),
        ({"type": "subscribe", "rate": 1e9}, "rate"),
        ({"type": "step", "count": 0}, "count"),
        ({"type": "reset", "keyframe": "nowhere"}, "nowhere"),
        ({"type": "reset", "keyframe": 1.5}, "keyframe 1.5"),
    ],
)
def test_what_cannot_be_done_is_said_and_the_line_stays_open(server, message, reason):
    with Client(server) as c:
        c.receive()
        answer = c.ask(**message)
        assert answer["type"] == "error"
        assert reason in answer["message"]
        assert c.ask(type="get")["type"] == "state"


def test_what_is_no_message_is_refused(server):
    with Client(server) as c:
        c.receive()
        for text in ("{", "[1]", "3"):
            c.socket.send(text)
            assert c.receive()["type"] == "error"


def test_web_pages_are_turned_away_and_others_need_a_token(server, session):
    with pytest.raises(exceptions.InvalidStatus, match="403"):
        Client(server, origin="http://example.org")
    with pytest.raises(ValueError, match="needs a token"):
        Server(session, host="0.0.0.0", port=0)
    with pytest.raises(OSError, match="cannot listen"):
        Server(session, port=server.port)
    locked = Server(session, port=0, token="sesame")
    try:
        for wrong in ({"type": "hello", "token": "barley"}, {"type": "hello"}, {"type": "get"}):
            with Client(locked) as c:
                assert c.ask(**wrong)["message"].startswith("wrong token")
                with pytest.raises(exceptions.ConnectionClosed):
                    c.receive()
        with Client(locked) as c:
            assert c.ask(type="hello", token="sesame")["type"] == "model"
    finally:
        locked.stop()


@pytest.mark.slow
def test_the_client_of_the_page_balances_a_pole():
    import threading
    import time

    code = re.findall(r"```python\n(.*?)```", PAGE, re.S)[-1]
    assert len(code.splitlines()) <= 35
    names = {}
    exec(compile(code, "viewer.md", "exec"), names)
    session = Session(jaxsim.load_model(models.path("cartpole")))
    session.warm_up()
    end, server = threading.Event(), Server(session, port=0)

    def run():
        before = time.perf_counter()
        while not end.wait(0.005):
            now = time.perf_counter()
            session.tick(now - before)
            before = now

    thread = threading.Thread(target=run)
    thread.start()
    try:
        state = names["drive"](f"ws://127.0.0.1:{server.port}", 3.0)
    finally:
        end.set()
        thread.join()
        server.stop()
    assert abs(state["qpos"][1]) < 0.3
    assert np.isfinite(state["qpos"]).all()
