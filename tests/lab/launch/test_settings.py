"""`doctor --calibrate` saves the fastest settings and labs use them; an unreadable file means defaults."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dcnlab.lab import settings
from dcnlab.lab.client import Lab
from dcnlab.lab.doctor import calibration


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("offloads", [True, False])
def test_labs_use_saved_settings(offloads: bool) -> None:
    settings.save(settings.Settings(offloads))
    assert settings.load().offloads == offloads
    assert Lab("bcube:2,1", "brp").config.offloads == offloads
    assert Lab("bcube:2,1", "brp", offloads=True).config.offloads


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"offloads": 1}', "3"])
def test_an_unreadable_file_means_defaults(text: str) -> None:
    settings.path().parent.mkdir(parents=True)
    settings.path().write_text(text)
    assert settings.load() == settings.Settings()


@pytest.mark.lab
def test_tcp_works_with_and_without_offloads() -> None:
    trials = calibration.calibrate(lambda stage: None)
    assert {trial.settings.offloads for trial in trials} == {True, False}
    assert all(trial.mbps > 0 for trial in trials), trials
    assert not os.path.exists(settings.path())


@pytest.mark.lab
def test_agents_without_offloads() -> None:
    with Lab("bcube:2,1", "brp", offloads=False) as lab:
        assert lab.iperf("h0", "h3", 1.0).mbps > 0
