"""The controls beside the browser's picture: time, what is shown, controls, joints, pulling, sensors."""

from __future__ import annotations

import dataclasses
from collections import deque
from typing import Any

import numpy as np

from jaxsim.enums import JointType, ObjType
from jaxsim.results import explain
from jaxsim.structure.controls import control_range
from jaxsim.viewer.cameras import first_camera
from jaxsim.viewer.scene import GROUPS
from jaxsim.viewer.session import Session
from jaxsim.viewer.stage import Stage, camera_wxyz

__all__ = ["Panel"]

_NOTHING = "(none)"
_FREE = "free"
_MEMORY = 5.0
"""Length of the sensor plot, s."""

_MOST = 60
"""Most sliders of a kind: a panel of hundreds is of no use."""


class Panel:
    """All controls of one viewer; callbacks come on viser's threads, `update` on the loop's."""

    def __init__(self, server: Any, session: Session, stage: Stage) -> None:
        """Adds the controls.

        Args:
            server: viser's server.
            session: What runs.
            stage: What is drawn.
        """
        self._server, self._session, self._stage = server, session, stage
        self._joints: list[tuple[int, Any]] = []
        self._controls: list[Any] = []
        self._samples: deque[tuple[float, np.ndarray]] = deque(maxlen=1000)
        self._quiet = False
        self._held = None
        tabs = server.gui.add_tab_group()
        with tabs.add_tab("Run"):
            self._run()
        with tabs.add_tab("Show"):
            self._show()
        if session.recording is None and session.model.nu:
            with tabs.add_tab("Controls"):
                self._add_controls()
        if session.recording is None:
            with tabs.add_tab("Joints"):
                self._add_joints()
        if session.recording is None and session.model.nsensor:
            with tabs.add_tab("Sensors"):
                self._sensors()

    def update(self, frame: Any) -> None:
        """Shows what has changed; `frame` is the first world's."""
        session = self._session
        state = "playing" if session.playing else "paused"
        warning = np.asarray(session.data.warning)
        trouble = f"\n\n{explain(warning)}" if warning.any() else ""
        text = f"**{session.moment:.2f} s**, {state}, {session.pace:.2f} x real time{trouble}"
        if self._status.content != text:
            self._status.content = text
        self._play.label = "Pause" if session.playing else "Play"
        if session.recording is not None:
            self._set(self._time, session.moment)
        qpos = np.asarray(session.data.qpos)[0]
        for address, slider in self._joints:
            self._set(slider, float(np.clip(qpos[address], slider.min, slider.max)))
        if self._held is not None:
            self._held_update(frame)
        self._follow(frame)

    def plot(self) -> None:
        """Adds the sensor's values to its plot."""
        session = self._session
        if session.recording is not None or not session.model.nsensor or self._chosen.value == _NOTHING:
            return
        k = self._sensor_names.index(self._chosen.value)
        start, size = int(session.model.sensor_adr[k]), int(session.model.sensor_dim[k])
        values = np.asarray(session.data.sensordata[0], float)[start : start + size]
        now = session.moment
        if self._samples and (now < self._samples[-1][0] or len(self._samples[-1][1]) != size):
            self._samples.clear()
        if not self._samples or now > self._samples[-1][0]:
            self._samples.append((now, values))
        recent = [s for s in self._samples if s[0] >= now - _MEMORY]
        times = np.array([t for t, _ in recent])
        columns = np.array([v for _, v in recent]).reshape(len(recent), size)[:, :3]
        columns = np.pad(columns, ((0, 0), (0, 3 - columns.shape[1])), constant_values=np.nan)
        self._chart.data = (times, *columns.T.copy())

    def _set(self, slider: Any, value: float) -> None:
        """Moves a slider without its callback."""
        if abs(slider.value - value) > 1e-4:
            self._quiet = True
            slider.value = value
            self._quiet = False

    def _run(self) -> None:
        gui, session, model = self._server.gui, self._session, self._session.model
        self._status = gui.add_markdown("")
        self._play = gui.add_button("Play")
        steps, again = gui.add_button("Step"), gui.add_button("Reset")
        speed = gui.add_slider("speed", 0.05, 4.0, 0.05, float(np.clip(session.speed, 0.05, 4.0)))

        @self._play.on_click
        def _(_: Any) -> None:
            session.playing = not session.playing

        @steps.on_click
        def _(_: Any) -> None:
            session.playing = False
            session.step(1)

        @again.on_click
        def _(_: Any) -> None:
            session.reset()

        @speed.on_update
        def _(_: Any) -> None:
            session.speed = float(speed.value)

        if session.recording is not None:
            times = session.recording[0]
            self._time = gui.add_slider(
                "time", float(times[0]), float(max(times[-1], times[0] + 1e-3)), 1e-3, float(times[0])
            )

            @self._time.on_update
            def _(_: Any) -> None:
                if not self._quiet:
                    session.seek(float(self._time.value))

        if model.nkey and session.recording is None:
            names = [model.name(ObjType.KEY, k) or f"keyframe {k}" for k in range(model.nkey)]
            key = gui.add_dropdown("keyframe", (_NOTHING, *names))

            @key.on_update
            def _(_: Any) -> None:
                session.reset(None if key.value == _NOTHING else names.index(key.value))
                self._show_controls()

        cameras = [model.name(ObjType.CAMERA, k) or f"camera {k}" for k in range(model.ncam)]
        self._cameras = cameras
        first = first_camera(model)
        chosen = _FREE if first is None else cameras[first]
        self._camera = gui.add_dropdown("camera", (_FREE, *cameras), initial_value=chosen)
        if session.recording is None:
            self._pulling()

    def _pulling(self) -> None:
        """A gizmo on a body: dragged, it pulls; on a mocap body it moves it."""
        gui, session, model = self._server.gui, self._session, self._session.model
        bodies = [model.name(ObjType.BODY, b) or f"body {b}" for b in range(1, model.nbody)]
        chosen = gui.add_dropdown("pull", (_NOTHING, *bodies), hint="drag the gizmo: a spring pulls the body")

        @chosen.on_update
        def _(_: Any) -> None:
            session.release()
            if self._held is not None:
                self._held[1].remove()
                self._held = None
            if chosen.value != _NOTHING:
                self.hold(bodies.index(chosen.value) + 1)

    def hold(self, body: int) -> None:
        """Puts the gizmo on a body."""
        session = self._session
        gizmo = self._server.scene.add_transform_controls(
            "/pull", scale=3 * float(session.model.stat.meansize), depth_test=False
        )
        held = [body, gizmo, False]
        self._held = held
        mocap = int(session.model.body_mocapid[body])

        @gizmo.on_drag_start
        def _(_: Any) -> None:
            held[2] = True

        @gizmo.on_update
        def _(_: Any) -> None:
            if not held[2]:
                return
            if mocap < 0:
                session.pull(body, np.asarray(gizmo.position))
                return
            pos, quat = (np.array(getattr(session.data, n)[0], float) for n in ("mocap_pos", "mocap_quat"))
            pos[mocap], quat[mocap] = gizmo.position, gizmo.wxyz
            session.change(mocap_pos=pos, mocap_quat=quat)

        @gizmo.on_drag_end
        def _(_: Any) -> None:
            held[2] = False
            session.release()

    def _held_update(self, frame: Any) -> None:
        """The gizmo goes with its body unless it is being dragged."""
        assert self._held is not None
        body, gizmo, dragged = self._held
        mocap = int(self._session.model.body_mocapid[body]) >= 0
        if not dragged:
            gizmo.position = frame.xpos[body] if mocap else frame.xipos[body]

    def _follow(self, frame: Any) -> None:
        """Every browser's camera goes where the chosen camera is."""
        if self._camera.value == _FREE:
            return
        k = self._cameras.index(self._camera.value)
        for client in self._server.get_clients().values():
            with client.atomic():
                client.camera.position = frame.cam_xpos[k]
                client.camera.wxyz = camera_wxyz(frame.cam_xmat[k])
                if not self._session.model.cam_projection[k]:
                    client.camera.fov = float(np.radians(self._session.model.cam_fovy[k]))

    def _show(self) -> None:
        gui, over = self._server.gui, self._stage.overlays
        for name in ("contacts", "forces", "frames", "inertia", "tendons", "cameras", "sites"):
            self._box(gui.add_checkbox(name, bool(getattr(over, name))), name)
        for group in sorted({p.group for p in self._stage.scene.parts if p.kind == ObjType.GEOM}):
            self._group_box(gui.add_checkbox(f"geoms of group {group}", group in over.geoms), group)

    def _box(self, box: Any, name: str) -> None:
        @box.on_update
        def _(_: Any) -> None:
            value = (GROUPS if box.value else ()) if name in ("tendons", "sites") else bool(box.value)
            self._stage.overlays = dataclasses.replace(self._stage.overlays, **{name: value})
            if name in ("contacts", "forces") and not self._session.playing:
                self._session.refresh()

    def _group_box(self, box: Any, group: int) -> None:
        @box.on_update
        def _(_: Any) -> None:
            over = self._stage.overlays
            groups = {*over.geoms, group} if box.value else {*over.geoms} - {group}
            self._stage.overlays = dataclasses.replace(over, geoms=groups)

    def _add_controls(self) -> None:
        gui, session, model = self._server.gui, self._session, self._session.model
        for k in range(min(model.nu, _MOST)):
            low, high = (float(x[k]) for x in control_range(model, 1.0))
            if high <= low:
                low, high = -1.0, 1.0
            owner = int(np.searchsorted(np.asarray(model.actuator_ctrladr), k, side="right")) - 1
            name = model.name(ObjType.ACTUATOR, owner) or f"actuator {owner}"
            value = float(np.clip(session.data.ctrl[0, k], low, high))
            slider = gui.add_slider(name, low, high, (high - low) / 200, value)
            self._controls.append(slider)
            self._on_control(slider, k)
        if model.nu > _MOST:
            gui.add_markdown(f"{model.nu - _MOST} more controls: set them from Python")

    def _on_control(self, slider: Any, k: int) -> None:
        @slider.on_update
        def _(_: Any) -> None:
            if not self._quiet:
                ctrl = np.array(self._session.data.ctrl[0], float)
                ctrl[k] = slider.value
                self._session.change(ctrl=ctrl)

    def _show_controls(self) -> None:
        """Sliders at the controls of the state, after a reset."""
        ctrl = np.asarray(self._session.data.ctrl[0], float)
        for k, slider in enumerate(self._controls):
            self._set(slider, float(np.clip(ctrl[k], slider.min, slider.max)))

    def _add_joints(self) -> None:
        gui, model = self._server.gui, self._session.model
        for j in np.flatnonzero(np.isin(model.jnt_type, (JointType.HINGE, JointType.SLIDE)))[:_MOST]:
            low, high = (float(x) for x in np.asarray(model.jnt_range)[j])
            if not model.jnt_limited[j] or high <= low:
                low, high = (-np.pi, np.pi) if model.jnt_type[j] == JointType.HINGE else (-1.0, 1.0)
            address = int(model.jnt_qposadr[j])
            value = float(np.clip(self._session.data.qpos[0, address], low, high))
            name = model.name(ObjType.JOINT, j) or f"joint {j}"
            slider = gui.add_slider(name, low, high, (high - low) / 500, value)
            self._joints.append((address, slider))
            self._on_joint(slider, address)

    def _on_joint(self, slider: Any, address: int) -> None:
        """Moves the joint in a paused simulation; in a running one the slider only shows."""

        @slider.on_update
        def _(_: Any) -> None:
            if self._quiet or self._session.playing:
                return
            qpos = np.array(self._session.data.qpos[0], float)
            qpos[address] = slider.value
            self._session.change(qpos=qpos)

    def _sensors(self) -> None:
        gui, model = self._server.gui, self._session.model
        self._sensor_names = [model.name(ObjType.SENSOR, k) or f"sensor {k}" for k in range(model.nsensor)]
        self._chosen = gui.add_dropdown("sensor", (_NOTHING, *self._sensor_names))
        colours = ("#2f6db5", "#dd6b3f", "#3f9e5f")
        series = [
            {"label": "s"},
            *({"label": n, "stroke": c, "width": 2} for n, c in zip("xyz", colours, strict=True)),
        ]
        empty = np.zeros(1)
        self._chart = gui.add_uplot((empty, empty, empty, empty), tuple(series), aspect=1.4)

        @self._chosen.on_update
        def _(_: Any) -> None:
            self._samples.clear()
