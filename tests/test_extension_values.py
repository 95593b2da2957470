"""Capabilities that are built outside the library, from the values that pass between its parts."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.acquisition import PolicyState, maximise
from surefoot.beliefs import Belief
from surefoot.hyperparameters import GAUSSIAN, GivenHyperparameters, HyperparameterFit
from surefoot.types import OBJECTIVE

UNIT = sf.Box([0.0, 0.0], [1.0, 1.0])


# A model for BoTorch


def belief_model(belief: Belief) -> Any:
    """A BoTorch model of the transformed function, by the joint posterior of a belief."""
    from botorch.models.model import Model
    from botorch.posteriors.gpytorch import GPyTorchPosterior
    from gpytorch.distributions import MultivariateNormal

    class BeliefModel(Model):
        num_outputs = 1

        @property
        def batch_shape(self) -> torch.Size:
            return torch.Size()

        def posterior(
            self,
            X: Tensor,
            output_indices: list[int] | None = None,
            observation_noise: bool | Tensor = False,
            posterior_transform: Callable[[Any], Any] | None = None,
        ) -> Any:
            mean, covariance = belief.posterior.joint(X)
            jitter = 1e-8 * belief.posterior.scale**2 * torch.eye(X.shape[-2], dtype=X.dtype)
            noise = belief.outcome.noise.variance if observation_noise is True else 0.0
            total = covariance + jitter + noise * torch.eye(X.shape[-2], dtype=X.dtype)
            found = GPyTorchPosterior(MultivariateNormal(mean, total))
            return found if posterior_transform is None else posterior_transform(found)

        def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> Any:
            return belief_model(belief.conditioned(X, Y.squeeze(-1)))

    return BeliefModel()


@pytest.mark.long
def test_a_model_for_botorch() -> None:
    pytest.importorskip("botorch")
    from botorch.acquisition import qExpectedImprovement, qLogNoisyExpectedImprovement
    from botorch.optim import optimize_acqf

    optimizer = sf.algorithms.robust_ucb(UNIT, seed=0)
    points = UNIT.sample(24, torch.Generator().manual_seed(1))
    rewards = -(points - 0.4).square().sum(-1)
    rewards[3] = 40.0  # an outlier, which the belief leaves out
    optimizer.tell_all(points, rewards)
    belief = optimizer.belief()
    model = belief_model(belief)
    bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    known = belief.posterior.mean(points).max()
    for acquisition in (
        qExpectedImprovement(model, best_f=known),
        qLogNoisyExpectedImprovement(model, X_baseline=points[:12], prune_baseline=False),
    ):
        found, value = optimize_acqf(acquisition, bounds, q=2, num_restarts=2, raw_samples=32)
        assert found.shape == (2, 2)
        assert bool(value.isfinite())
        assert float((found - 0.4).abs().amin(0).max()) < 0.25
    batch = model.posterior(points.reshape(4, 6, 2))
    torch.testing.assert_close(batch.mean.squeeze(-1), belief.posterior.mean(points).reshape(4, 6))
    there = torch.tensor([[0.9, 0.9]], dtype=torch.float64)
    before = model.posterior(there)
    deviation = before.variance.sqrt().item()
    value = belief.outcome.transform.inverse(before.mean.reshape(1) + 2.0 * deviation)
    more = model.condition_on_observations(there, value.detach().reshape(1, 1)).posterior(there)
    assert more.mean.item() > before.mean.item() + 0.5 * deviation
    assert more.variance.sqrt().item() < 0.9 * deviation


# Two objectives


class Chebyshev:
    """Maximises a random augmented Chebyshev scalarisation of two upper bounds (ParEGO)."""

    def check(self, space: Any, risk: Any) -> None:
        """Accept every space without an environment."""

    def choose(self, belief: Belief, among: Any, state: PolicyState) -> Any:
        share = float(torch.rand((), generator=state.generator))
        bounds = [belief.posterior, belief.constraints.outcomes["cost"].posterior]
        means = torch.stack([one.mean(belief.candidates.sites) for one in bounds])
        low, span = means.amin(-1), means.amax(-1) - means.amin(-1)

        def score(x: Tensor) -> Tensor:
            moments = [one.mean_and_deviation(x) for one in bounds]
            upper = [mean + deviation for mean, deviation in moments]
            scaled = [(u - a) / s for u, a, s in zip(upper, low, span, strict=True)]
            first, second = share * scaled[0], (1.0 - share) * scaled[1]
            return torch.minimum(first, second) + 0.05 * (first + second)

        return maximise(score, belief.candidates, state.generator, among)


@pytest.mark.long
def test_two_objectives_with_a_policy_of_ones_own(tmp_path: Any) -> None:
    def measured(x: Tensor) -> tuple[float, dict[str, float]]:
        gain, cost = -float((x - 0.2).square().sum()), float((x - 0.8).square().sum())
        return gain, {"cost": cost}

    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(UNIT, outcomes={"cost": sf.Objective(maximise=False)}),
        policy=Chebyshev(),
        seed=0,
    )
    for _ in range(32):
        query = optimizer.ask()
        reward, others = measured(query.point)
        optimizer.tell(query, reward, outcomes=others)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", policy=Chebyshev())
    assert torch.equal(loaded.ask().point, optimizer.ask().point)
    late = optimizer.history.sites[12:]
    along = late.mean(-1, keepdim=True)
    assert float((late - along).abs().mean()) < 0.12  # the front is the diagonal
    assert float(along.min()) < 0.35
    assert float(along.max()) > 0.65
    cost = optimizer.belief().constraints.outcomes["cost"]
    goal = cost.transform.inverse(cost.posterior.mean(late))
    torch.testing.assert_close(goal, -(late - 0.8).square().sum(-1), atol=0.05, rtol=0.0)


# Noise that depends on x


class Rising:
    """Standard deviation 2 x of the noise."""

    def variances(self, points: Tensor) -> Tensor:
        return (2.0 * points[:, 0]).square()


def test_known_noise_that_depends_on_the_point() -> None:
    line, rng = sf.Box([0.0], [1.0]), np.random.default_rng(0)
    kernel, x = sf.kernels.squared_exponential(0.2), rng.random((40, 1))
    y = np.sin(4.0 * x[:, 0]) + 2.0 * x[:, 0] * rng.normal(size=40)
    rule = GivenHyperparameters(kernel, 0.01, known_noise=Rising())
    optimizer = sf.Optimizer(line, sf.Method(rule))
    optimizer.tell_all(x, y)
    at = np.linspace(0.0, 1.0, 7)[:, None]
    covariance = np.exp(-0.5 * ((x - x.T) / 0.2) ** 2)
    across = np.exp(-0.5 * ((at - x.T) / 0.2) ** 2)
    inverse = np.linalg.inv(covariance + np.diag(0.01 + (2.0 * x[:, 0]) ** 2))
    posterior = optimizer.belief().posterior
    mean, deviation = posterior.mean_and_deviation(torch.from_numpy(at))
    np.testing.assert_allclose(mean.numpy(), across @ inverse @ y, atol=1e-6)
    variance = 1.0 - np.einsum("ij,jk,ik->i", across, inverse, across)
    np.testing.assert_allclose(deviation.numpy() ** 2, variance, atol=1e-6)


@pytest.mark.long
def test_known_noise_beside_a_fitted_one() -> None:
    line, rng = sf.Box([0.0], [1.0]), np.random.default_rng(1)
    x = np.repeat(rng.random((40, 1)), 2, axis=0)
    y = np.sin(4.0 * x[:, 0]) + 2.0 * x[:, 0] * rng.normal(size=80)
    deviations = []
    for known in ({}, {"known_noise": Rising()}):
        optimizer = sf.Optimizer(line, sf.Method(HyperparameterFit(dof=GAUSSIAN, **known)))
        optimizer.tell_all(x, y)
        mean, deviation = optimizer.belief().posterior.mean_and_deviation([[0.05]])
        assert abs(float(mean) - np.sin(0.2)) < 3.0 * float(deviation)
        deviations.append(float(deviation))
    assert deviations[1] < 0.5 * deviations[0]  # it knows that there is little noise there


# A fidelity as an environment with a cost


class CheapFirst:
    """Upper confidence bound at the full fidelity; measures where variance falls most a cost."""

    cost = torch.tensor([1.0, 10.0], dtype=torch.float64)

    def check(self, space: Any, risk: Any) -> None:
        """Accept designs beside two fidelities."""

    def choose(self, belief: Belief, among: Any, state: PolicyState) -> Any:
        best = maximise(
            lambda x: belief.candidates.bound(x, belief.band.width),
            belief.candidates,
            state.generator,
            among,
        )
        x = best.design.unsqueeze(0)
        points = belief.space.inputs(x, belief.candidates.z)  # at each fidelity, the full one last
        covariance = belief.posterior.joint(points).covariance
        noise = belief.outcome.fitted.noise
        gain = covariance[:, -1].square() / (covariance.diagonal() + noise) / self.cost
        return belief.space.location(
            best.design, best.design_arm, belief.candidates.z[int(gain.argmax())]
        )


@pytest.mark.long
def test_a_fidelity_as_an_environment_with_a_cost() -> None:
    fidelity = sf.FiniteEnvironment([0.0, 1.0], [1e-9, 1.0 - 1e-9])  # the risk is of the full one
    kernel = sf.kernels.squared_exponential([0.2, 5.0])
    optimizer = sf.Optimizer(
        sf.Problem(sf.Joint(sf.Box([0.0], [1.0]), fidelity), risk=sf.Mean()),
        sf.Method(kernel, policy=CheapFirst(), ridge=1e-2, plan=sf.acquisition.Plan(4)),
    )
    spent = 0.0
    while spent < 100.0:
        query = optimizer.ask()
        full = bool(query.environment[0] > 0.5)
        x = float(query.point)
        spent += 10.0 if full else 1.0
        optimizer.tell(query, -((x - 0.37) ** 2) + (0.0 if full else 0.05 * np.sin(9.0 * x)))
    assert len(optimizer.history) > 20  # most of them cheap
    assert abs(float(optimizer.recommend().point) - 0.37) < 0.1


# Ask and tell without a state in memory


def stateless(request: str) -> str:
    """Answer a request that holds the whole history, as a service without memory does."""
    asked = json.loads(request)
    optimizer = sf.algorithms.robust_ucb(sf.Box(*asked["box"]), seed=asked["seed"])
    told = [sf.Measurement(row["x"], {OBJECTIVE: row["y"]}) for row in asked["told"]]
    if told:
        optimizer.record(told)
    for point in asked["pending"]:
        optimizer.expect(point)
    answer: dict[str, Any] = {"ask": optimizer.ask().point.tolist()}
    if told:
        best = optimizer.recommend()
        answer |= {"best": best.point.tolist(), "interval": [best.lower, best.upper]}
    return json.dumps(answer)


@pytest.mark.long
def test_a_stateless_ask_and_tell() -> None:
    told: list[dict[str, Any]] = []
    request = {"box": [[0.0], [2.0]], "seed": 3, "told": told, "pending": []}
    for _ in range(14):
        (x,) = json.loads(stateless(json.dumps(request)))["ask"]
        told.append({"x": [x], "y": -((x - 1.3) ** 2)})
    answer = json.loads(stateless(json.dumps(request)))
    assert answer == json.loads(stateless(json.dumps(request)))
    assert abs(answer["best"][0] - 1.3) < 0.05
    assert answer["interval"][0] <= 0.01
    both = stateless(json.dumps({**request, "pending": [answer["ask"]]}))
    assert json.loads(both)["ask"] != answer["ask"]
