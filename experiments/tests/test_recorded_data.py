"""Recorded data are read whole, or refused with file, line and what was expected."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from surefoot import InvalidInput
from surefoot_experiments.problems import portfolio_returns, sensors, stocks
from surefoot_experiments.problems.normality import distances
from surefoot_experiments.problems.sensors import simulate

RANDOM = np.random.default_rng(0)


def lines(numbers: np.ndarray) -> list[str]:
    return [",".join(f"{value:.6g}" for value in row) for row in numbers]


def write_stocks(folder: Path, prices: np.ndarray) -> Path:
    names = [f"S{number}" for number in range(prices.shape[1])]
    days = [f"2016-01-{day % 28 + 1:02d},{line}" for day, line in enumerate(lines(prices))]
    path = folder / stocks.FILE
    path.write_text("\n".join([",".join(["Date", *names]), *days]) + "\n")
    return path


def write_sensors(folder: Path, count: int = 5) -> dict[str, np.ndarray]:
    parts = {
        sensors.TRAIN: RANDOM.lognormal(5.0, 0.4, (130, count)),
        sensors.TEST: RANDOM.lognormal(5.0, 0.4, (120, count)),
        sensors.COORDS: RANDOM.random((count, 2)) * 300,
    }
    for name, numbers in parts.items():
        (folder / name).write_text("\n".join(lines(numbers)) + "\n")
    return parts


def test_stocks_are_read_with_their_tests(tmp_path):
    prices = RANDOM.lognormal(4.0, 0.3, (120, 3))
    write_stocks(tmp_path, prices)
    data = stocks.load(tmp_path)
    np.testing.assert_allclose(data.arrays["prices"], prices, rtol=1e-5)
    assert data.source.startswith(f"{stocks.FILE}: adjusted closing prices of 3 stocks on 120 days")
    assert data.line.startswith("Kolmogorov–Smirnov tests of each stock's values: a normal law")
    assert data.line in data.notes
    assert "| S2 |" in data.notes
    assert data.digest == stocks.load(tmp_path).digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("\n2016-01-02,", "\n2016-01-02,x", 1), "line 3, column 'S0'"),
        (lambda text: "", "the file is empty"),
        (lambda text: text.replace("\n2016-01-02", ",7\n2016-01-02", 1), "line 2: got 5 columns"),
        (lambda text: "\n".join(text.splitlines()[:3]), "got 2 rows of 3 columns, expected"),
        (lambda text: text.splitlines()[0], "got 0 rows of 3 columns"),
        (
            lambda text: "\n".join(text.splitlines()[:52]),
            "got 51 rows .* least 100 rows",
        ),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, change, message):
    path = write_stocks(tmp_path, RANDOM.lognormal(4.0, 0.3, (120, 3)))
    path.write_text(change(path.read_text()))
    with pytest.raises(InvalidInput, match=message) as caught:
        stocks.load(tmp_path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("entry", ["nan", "inf", "-3", "0", "", "1,5", "1e160"])
def test_a_price_is_a_positive_number(tmp_path, entry):
    path = write_stocks(tmp_path, RANDOM.lognormal(4.0, 0.3, (120, 3)))
    rows = path.read_text().splitlines()
    rows[7] = f'2016-01-07,1.0,"{entry}",2.0'
    path.write_text("\n".join(rows))
    with pytest.raises(InvalidInput, match=r"line 8, column 'S1': got .*, expected a positive num"):
        stocks.load(tmp_path)


@pytest.mark.long
def test_a_mark_of_byte_order_is_no_part_of_the_first_number(tmp_path):
    write_sensors(tmp_path)
    before = sensors.load(tmp_path).digest
    for name in (sensors.TRAIN, sensors.TEST, sensors.COORDS):
        path = tmp_path / name
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert sensors.load(tmp_path).digest == before


def test_the_portfolio_has_a_mark_of_byte_order_and_no_huge_return(tmp_path):
    path = tmp_path / portfolio_returns.FILE
    rows = [[*RANDOM.random(5), 1.0] for _ in range(portfolio_returns.ROWS)]
    header = ",".join(portfolio_returns.COLUMNS)
    path.write_text("\n".join([header, *lines(np.array(rows))]), encoding="utf-8-sig")
    points, _ = portfolio_returns.read(path)
    assert points.shape == (portfolio_returns.ROWS, 5)
    rows[6][-1] = 1e160
    path.write_text("\n".join([header, *lines(np.array(rows))]))
    with pytest.raises(InvalidInput, match=r"line 8, column .*1e\+160.* of at most 1e\+30"):
        portfolio_returns.read(path)


def test_a_missing_binary_or_constant_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=f"{stocks.FILE}: no such file"):
        stocks.load(tmp_path)
    path = write_stocks(tmp_path, np.ones((120, 3)))
    with pytest.raises(InvalidInput, match="column 'S0': it is constant"):
        stocks.load(tmp_path)
    path.write_bytes(b"\xff\xfe\x00PAR1")
    with pytest.raises(InvalidInput, match="cannot be read as CSV"):
        stocks.load(tmp_path)


def test_stocks_that_a_package_ships():
    data = stocks.load(None)
    assert data.arrays["prices"].shape == (823, 20)
    assert "not the paper's 29 stocks" in data.source


def test_sensors_are_read_and_their_places_scaled(tmp_path):
    parts = write_sensors(tmp_path)
    data = sensors.load(tmp_path)
    np.testing.assert_allclose(data.arrays["train"], parts[sensors.TRAIN], rtol=1e-5)
    assert data.arrays["test"].shape == (120, 5)
    assert (data.arrays["places"].min(0) == 0).all()
    assert (data.arrays["places"].max(0) == 1).all()


@pytest.mark.parametrize(
    ("name", "keep", "message"),
    [
        (sensors.TEST, slice(0, 4), "got 4 columns, expected 5, one for each sensor"),
        (sensors.COORDS, slice(0, 1), "got 5 rows of 1 columns, expected 5 rows of 2"),
    ],
)
def test_files_that_do_not_go_together_are_refused(tmp_path, name, keep, message):
    write_sensors(tmp_path)
    path = tmp_path / name
    path.write_text("\n".join(",".join(r.split(",")[keep]) for r in path.read_text().split()))
    with pytest.raises(InvalidInput, match=message):
        sensors.load(tmp_path)


def test_readings_to_test_are_enough_and_change(tmp_path):
    parts = write_sensors(tmp_path)
    path, readings = tmp_path / sensors.TEST, parts[sensors.TEST]
    path.write_text("\n".join(lines(readings[:1])))
    with pytest.raises(
        InvalidInput, match=r"got 1 rows of 5 columns, .* is it complete\?"
    ) as caught:
        sensors.load(tmp_path)
    assert str(path) in str(caught.value)
    readings[:, 3] = 7.0
    path.write_text("\n".join(lines(readings)))
    with pytest.raises(InvalidInput, match="column '4': it is constant"):
        sensors.load(tmp_path)


def test_simulated_sensors_are_heavy_tailed_alike_nearby_and_always_the_same():
    train, test, places = simulate()
    assert (train.shape, test.shape, places.shape) == ((601, 41), (192, 41), (41, 2))
    again = simulate()
    assert all((one == two).all() for one, two in zip((train, test, places), again, strict=True))
    assert min(train.min(), test.min()) >= 1
    assert np.median(stats.kurtosis(train)) > 1  # 0 for a normal law
    correlation = np.corrcoef(train.T)
    distance = np.linalg.norm(places[:, None] - places[None], axis=-1)
    near, far = (distance > 0) & (distance < 0.15), distance > 0.6
    assert correlation[near].mean() > correlation[far].mean() + 0.1
    assert np.linalg.eigvalsh(correlation).min() > 1e-6


def test_distances_are_those_of_scipy_and_know_a_heavy_tail():
    random = np.random.default_rng(3)
    values = np.stack([random.standard_t(2.0, 2000), random.normal(5.0, 2.0, 2000)], axis=1)
    found = distances(values)
    for column, statistic in zip(values.T, found.normal, strict=True):
        law = stats.norm(column.mean(), column.std())
        assert statistic == pytest.approx(stats.kstest(column, law.cdf).statistic, abs=1e-12)
    # A fixed sample: the gap to a normal law is ten times what a normal sample would show.
    assert found.p[0] < 1e-6
    assert found.p[1] > 0.05
    assert found.dof[0] == pytest.approx(2.0, abs=0.5)
    assert found.dof[1] >= 15
    assert found.student[0] < 0.5 * found.normal[0]
