"""Teaches sweeps from Python: a scenario as values, run for every combination, with means and intervals."""

from dcnlab import run_matrix

SCENARIO = {
    "topology": "bcube:2,1",
    "scheme": "brp",
    "options": {"rate": "20Mbit"},
    "traffic": [{"flows": "incast", "sizes": "fixed:20K", "count": 1, "timeout": "60s"}],
    "expect": ["flows.failed == 0"],
}

if __name__ == "__main__":
    sweep = run_matrix(SCENARIO, matrix={"scheme": ["brp", "wmgr"]}, repeat=2)
    for mean in sweep.means():
        if mean.figure == "flows.slowdown_median":
            print(f"{mean.values['scheme']}: slowdown {mean}, predicted {mean.predicted:.3g}")
    assert sweep.held
