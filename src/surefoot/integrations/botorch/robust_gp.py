"""BoTorch model whose posterior is robust to outliers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from botorch.models.model import FantasizeMixin, Model
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import ChainedOutcomeTransform, OutcomeTransform
from botorch.posteriors import GPyTorchPosterior, Posterior
from gpytorch.constraints import Positive
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.models.gp import GP
from linear_operator import to_linear_operator
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.process_settings import own_settings
from surefoot._internal.threads import one_thread
from surefoot.algorithms import robust
from surefoot.beliefs import Belief, Credible, Moments, Reported
from surefoot.hyperparameters import HyperparameterFit
from surefoot.hyperparameters.fitted import Fitted
from surefoot.integrations.botorch.laws import (
    Conditioned,
    Law,
    MultitaskNormal,
    Normal,
    law_of,
)
from surefoot.integrations.botorch.outcome_transform import ChainTransform, before, transformed
from surefoot.integrations.botorch.state import fits_from, state_of
from surefoot.integrations.botorch.training_data import (
    MOST_VARIANCE,
    check_data,
    check_finite,
    check_scale,
    checked_bounds,
    ends,
    own_copy,
    warn_of_small_outcomes,
)
from surefoot.models import Model as OutcomeModel
from surefoot.problem import Problem
from surefoot.regression.observations import Observations
from surefoot.risks import Mean
from surefoot.spaces import Box
from surefoot.types import InvalidInput

_JITTER = 1e-10  # of the prior variance, so that covariances of close points can be factored
_FOLLOWING = ("beliefs", "_laws", "_noises")  # from data and hyperparameters, when asked for
_DATA = ("_train_X", "_train_Y", "_train_Yvar")  # in the units of the user


@dataclass(frozen=True, eq=False)
class _Further:
    """Measurements on which a posterior is conditioned, at the hyperparameters of before.

    Args:
        points: Transformed inputs (..., k, d).
        values: Standardised outcomes (..., k, m).
        noise: Their noise variances (..., k, m).
    """

    points: Tensor
    values: Tensor
    noise: Tensor

    def on(self, law: Law, output: int) -> Conditioned:
        """The law of an outcome, given them."""
        return Conditioned(law, self.points, self.values[..., output], self.noise[..., output])

    def of(self, outputs: Sequence[int]) -> _Further:
        """The measurements of some outcomes."""
        values, noise = self.values[..., outputs], self.noise[..., outputs]
        return replace(self, values=values, noise=noise)


class RobustGP(Model, GP, FantasizeMixin):
    r"""BoTorch model with Student-t noise, fitted kernel and weights of the rewards.

    Takes the place of `SingleTaskGP` where some outcomes are outliers or the noise is heavy-tailed.
    Its posterior is the one of `surefoot.algorithms.robust_ucb`: kernel, noise scale, degrees of
    freedom and a transformation of the outcomes are fitted, and outliers lose their weight. It is
    fitted where it is first needed; `fit_gpytorch_mll` leaves it as it is. Computations are in
    float64, posteriors have the dtype of the inputs, or that of an outcome transform.

    The posterior has the moments of a mixture over 16 samples of the hyperparameters, with up to
    1,000 outcomes. It is Gaussian, or a `ChainPosterior` with exact samples and quantiles where the
    fitted transformation is not affine.

    `condition_on_observations` and `fantasize` trust what they add: it has the noise of a reward
    that is no outlier. Where new measurements may be outliers, make a new model of all of them.

    `state_dict` has the hyperparameters and the transforms that were given. Loaded into a model of
    the same data, they give the same posterior without a fit; into one of other data,
    the posterior of these at those hyperparameters, until `fit_gpytorch_mll` fits again.

    Args:
        train_X: Inputs (n, d), in any units.
        train_Y: Outcomes (n, m), of which each has a model of its own.
        train_Yvar: Known variances (n, m) of the errors of the outcomes, in addition to the noise
            that is fitted. Further measurements have their mean, as in BoTorch.
        outcome_transform: Transform of the outcomes before the fitted one. None is needed for the
            posterior. Acquisition functions of BoTorch have tolerances in the units of the
            outcomes, of 1e-6 for instance; a warning says where outcomes vary too little for these.
        input_transform: Transform of the inputs. None is needed for their scale. As of the one of
            the outcomes, the model has a copy, and fits none of its parameters.
        bounds: Bounds (2, d) of the (transformed) inputs, relative to which lengthscales have their
            prior; by default, those of the data.
        hyperparameters: Rule by which hyperparameters are fitted; that of `robust_ucb` by default.
            `HyperparameterFit(warped=False)` fits no transformation.

    Raises:
        InvalidInput: If shapes do not match, values are not finite, or a transform has parameters
            to fit.

    References:
        Balandat et al. 2020, "BoTorch: a framework for efficient Monte-Carlo Bayesian
        optimization"; Tipping and Lawrence 2005, "Variational inference for Student-t models".

    Example:
        >>> import torch
        >>> from surefoot.integrations.botorch import RobustGP
        >>> x = torch.linspace(0, 1, 20, dtype=torch.float64).unsqueeze(-1)
        >>> y = torch.sin(6 * x)
        >>> y[7] = 50.0  # an outlier
        >>> model = RobustGP(x, y)
        >>> bool(model.outlier_weights[7] < 0.1)
        True
        >>> model.posterior(x.reshape(4, 5, 1)).mean.shape
        torch.Size([4, 5, 1])
    """

    def __init__(
        self,
        train_X: Tensor,
        train_Y: Tensor,
        train_Yvar: Tensor | None = None,
        outcome_transform: OutcomeTransform | None = None,
        input_transform: InputTransform | None = None,
        bounds: Tensor | Sequence | None = None,
        hyperparameters: HyperparameterFit | None = None,
    ) -> None:
        check_data(train_X, train_Y, train_Yvar)
        if hyperparameters is not None:
            checks.instance("hyperparameters", hyperparameters, HyperparameterFit)
        warn_of_small_outcomes(train_Y)
        super().__init__()
        if input_transform is not None:
            own = own_copy("input_transform", input_transform)
            self.input_transform = own.train().to(train_X)
        if outcome_transform is not None:
            own = own_copy("outcome_transform", outcome_transform)
            self._given_transform = own.train().to(train_Y)
        # What is measured is no state: a state dict has the hyperparameters.
        for name, one in zip(_DATA, (train_X, train_Y, train_Yvar), strict=True):
            given = None if one is None else one.detach().clone()
            self.register_buffer(name, given, persistent=False)
        with torch.no_grad():
            self.transform_inputs(train_X)  # an input transform learns its coefficients here
        self._transform_data()
        self._own_bounds = None if bounds is None else checked_bounds(bounds, self._points)
        self._rule = hyperparameters
        shape = torch.Size([] if self.num_outputs == 1 else [self.num_outputs])
        self.likelihood = GaussianLikelihood(batch_shape=shape, noise_constraint=Positive())
        self.likelihood.to(train_X.device, torch.float64).requires_grad_(False)
        self._further: tuple[_Further, ...] = ()
        self.register_load_state_dict_post_hook(_after_load)
        self.eval()

    # Hyperparameters and beliefs

    @cached_property
    def fits(self) -> list[Fitted]:
        """Kernel, noise, transformation and weights of each outcome."""
        with own_settings():
            model = self._outcome_model("cpu")
            fits = [model.fit(one) for one in self._observations("cpu")]
        for output, fitted in enumerate(fits):
            check_scale(output, fitted.scale)
        self.__dict__["fits"] = fits
        self._set_noise()
        return fits

    @cached_property
    def beliefs(self) -> list[Belief]:
        """Belief of each outcome, without measurements that were conditioned on."""
        device = self._points.device
        with own_settings():
            model = self._outcome_model(device)
            found = []
            for fitted, seen in zip(self.fits, self._observations(device), strict=True):
                here = replace(
                    fitted,
                    kernel=copy.deepcopy(fitted.kernel).to(device).requires_grad_(False),
                    weights=fitted.weights.to(device),
                )
                outcome = model.belief(seen, here, torch.Generator().manual_seed(0))
                reported = Reported(Credible())
                found.append(Belief(model.space, Mean(), outcome, outcome.band, reported=reported))
        return found

    @property
    def outlier_weights(self) -> Tensor:
        """Weight in [0, 1] of each outcome (n, m) in the estimate, near 0 for outliers."""
        return torch.stack([belief.weights for belief in self.beliefs], -1).to(self._rewards)

    @property
    def covar_module(self) -> Any:
        """Fitted kernel of standardised outcomes; a list for several."""
        kernels = [fitted.kernel for fitted in self.fits]
        return kernels[0] if len(kernels) == 1 else kernels

    @property
    def outcome_transform(self) -> OutcomeTransform:
        """Transform from outcomes to standardised ones: the one given, then the fitted one."""
        fitted = ChainTransform([one.units.chain for one in self.fits])
        if not hasattr(self, "_given_transform"):
            return fitted
        return ChainedOutcomeTransform(given=self._given_transform, fitted=fitted)

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """Transformed inputs (n, d)."""
        return (self._points,)

    @property
    def train_targets(self) -> Tensor:
        """Standardised outcomes (n,), or (m, n) of several."""
        chains = ChainTransform([one.units.chain for one in self.fits])
        targets: Tensor = chains(self._rewards)[0].mT
        return targets.squeeze(0) if self.num_outputs == 1 else targets

    def custom_fit(self, mll: Any, **kwargs: Any) -> Any:
        """Fit where the hyperparameters are of fewer data; `fit_gpytorch_mll` calls it.

        Args:
            mll: The marginal log likelihood of this model, which is not used.
            kwargs: Options of other fits, which have no meaning here.
        """
        if any(len(fitted.weights) != len(self._points) for fitted in self.fits):
            self._forget("fits", *_FOLLOWING)
        self._set_noise()
        return mll.eval()

    # BoTorch's protocol

    @property
    def num_outputs(self) -> int:
        """Number m of outcomes."""
        return self._rewards.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of what was conditioned on."""
        told = [part for one in self._further for part in (one.points, one.values)]
        return torch.broadcast_shapes(*[part.shape[:-2] for part in told])

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: Callable[..., Posterior] | None = None,
    ) -> Posterior:
        """Joint posterior of the function, in the units of the outcomes.

        Args:
            X: Inputs (..., q, d).
            output_indices: Indices of the outcomes, by default all.
            observation_noise: Whether to add the noise of a measurement that is no outlier, with
                the mean of the known variances; or noise variances (..., q, m) of the outcomes,
                after the `outcome_transform` that was given, as in BoTorch.
            posterior_transform: Transform of the posterior. Where the fitted transformation is not
                affine, a `ScalarizedPosteriorTransform` of one outcome is exact.

        Returns:
            Posterior of outcomes (..., q, m).

        Raises:
            InvalidInput: If `X` is of another shape, or the transform needs a Gaussian posterior
                where there is none.
        """
        X = self._located(X)
        points = X.to(self._points.device, torch.float64)
        chosen = range(self.num_outputs) if output_indices is None else output_indices
        parts = []
        for output in chosen:
            with one_thread():
                mean, covariance = _joint(self._law(output), points)
            jitter = _JITTER * float(self.fits[output].kernel.outputscale)
            noise: Any = jitter
            if isinstance(observation_noise, Tensor):
                known = observation_noise[..., output].to(mean)
                variance = covariance.diagonal(dim1=-2, dim2=-1).clamp_min(0.0)
                chain = self.fits[output].units.chain
                with torch.no_grad():
                    noise = noise + before(chain, mean, variance, known)
            elif observation_noise:
                noise = noise + self._noises[output]
            own = torch.as_tensor(noise, dtype=mean.dtype, device=mean.device)
            # Beside what was measured, rounding may leave a negative variance.
            lacking = (jitter - own - covariance.diagonal(dim1=-2, dim2=-1)).clamp_min(0.0)
            covariance = covariance + torch.diag_embed(own + lacking)
            parts.append(Normal(mean.to(X), to_linear_operator(covariance.to(X))))
        law = parts[0] if len(parts) == 1 else MultitaskNormal.independent(parts)
        transform = self.outcome_transform
        if output_indices is not None:
            transform = transform.subset_output(list(chosen))
        whole = transform.untransform_posterior(GPyTorchPosterior(law), X=X)
        return whole if posterior_transform is None else transformed(whole, posterior_transform, X)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: the law of GPyTorch's exact models has one noise variance for all measurements.

        Raises:
            InvalidInput: Always.
        """
        raise InvalidInput(
            "`model(X)` and `model.forward(X)` are those of GPyTorch's exact models. `RobustGP` is "
            "none, since each measurement has a noise variance of its own: call "
            "`model.posterior(X)`. In place of `loo_cv`, look at "
            "`model.beliefs[0].cross_validation`; in place of `qLowerBoundMaxValueEntropy` with "
            "pending points, use `qLogNoisyExpectedImprovement`."
        )

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> RobustGP:
        """The model given further outcomes, at the same hyperparameters.

        Args:
            X: Inputs (..., k, d).
            Y: Outcomes (..., k, m), with the batch of `X` or further dimensions before it.
            noise: Noise variances (..., k, m), as those of `posterior`; by default, the noise of
                measurements that are no outliers, with the mean of the known variances.
            kwargs: Ignored, as options of other models are.

        Returns:
            The model; the one at hand stays as it is.
        """
        points = self._located(X)
        if Y.ndim < 2 or Y.shape[-2:] != (X.shape[-2], self.num_outputs):
            raise InvalidInput(
                f"`Y` is of shape {tuple(Y.shape)}, expected (..., {X.shape[-2]}, "
                f"{self.num_outputs}) at inputs of shape {tuple(X.shape)}."
            )
        values, _ = self.outcome_transform(Y, X=points)
        return self._given(points, values, noise)

    def get_fantasy_model(
        self, inputs: Tensor, targets: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> RobustGP:
        """The model of one outcome given further ones, as `ModelListGP` asks for it.

        Args:
            inputs: Inputs (..., k, d).
            targets: Standardised outcomes (..., k).
            noise: Their noise variances (..., k), as those of `posterior`.
            kwargs: Ignored.
        """
        own = None if noise is None else noise.unsqueeze(-1)
        return self._given(self._located(inputs), targets.unsqueeze(-1), own)

    def subset_output(self, idcs: list[int]) -> RobustGP:
        """The model of some of the outcomes."""
        other = self._copy()
        for name in ("_train_Y", "_train_Yvar", "_rewards", "_sems"):
            if getattr(self, name) is not None:
                other._buffers[name] = getattr(self, name)[:, idcs]
        for name in ("fits", "beliefs"):
            if name in self.__dict__:
                other.__dict__[name] = [self.__dict__[name][index] for index in idcs]
        other._forget("_laws", "_noises")
        if "_given_transform" in self._transforms:
            other._given_transform = self._transforms["_given_transform"].subset_output(idcs)
        shape = torch.Size([] if len(idcs) == 1 else [len(idcs)])
        other.likelihood = GaussianLikelihood(batch_shape=shape, noise_constraint=Positive())
        other.likelihood.to(self._points.device, torch.float64).requires_grad_(False)
        if "fits" in other.__dict__:
            other._set_noise()
        other._further = tuple(one.of(idcs) for one in self._further)
        return other

    # State

    def get_extra_state(self) -> Tensor:
        """The hyperparameters as bytes (k,), which no code is read from."""
        return state_of(self.fits, self._data)

    def set_extra_state(self, state: Any) -> None:
        """Take over hyperparameters of `get_extra_state`."""
        if self._further:
            raise InvalidInput(
                "the model is conditioned on outcomes that are standardised by its own "
                "hyperparameters: load the state into a model of the data, then condition."
            )
        fits = fits_from(state, self._data, self.num_outputs, self._points.shape[-1])
        self._forget(*_FOLLOWING)
        self.__dict__["fits"] = fits

    def load_state_dict(
        self,
        state_dict: Mapping[str, Any],
        strict: bool = True,
        keep_transforms: bool = True,
        assign: bool = False,
    ) -> Any:
        """Take over hyperparameters and transforms; the data follow these.

        Args:
            state_dict: What `state_dict` of a model of the same inputs and outcomes gave.
            strict: Whether to refuse missing and further keys.
            keep_transforms: Whether to keep the transforms of the state; else those of this model
                stay.
            assign: Whether to take over the tensors themselves.
        """
        own = {} if keep_transforms else copy.deepcopy(self._transforms)
        found = super().load_state_dict(state_dict, strict=strict, assign=assign)
        if own:
            self._modules.update(own)
            _after_load(self, found)
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Without what follows from data and hyperparameters, for copies."""
        return {name: value for name, value in self.__dict__.items() if name not in _FOLLOWING}

    def _apply(self, fn: Callable[..., Any], recurse: bool = True) -> Any:
        """Move all tensors; beliefs are on the device of the data."""
        moved = super()._apply(fn, recurse)
        self._forget(*_FOLLOWING)
        self.likelihood._apply(lambda one: one.double())
        self._further = tuple(
            _Further(*(fn(part).double() for part in (one.points, one.values, one.noise)))
            for one in self._further
        )
        return moved

    def _set_transformed_inputs(self) -> None:
        """Nothing: the data are transformed once, as the belief is of transformed inputs."""

    def _revert_to_original_inputs(self) -> None:
        """Nothing, likewise."""

    # Parts

    @property
    def _data(self) -> list[Tensor]:
        return [self._buffers[name] for name in _DATA if self._buffers[name] is not None]

    @property
    def _transforms(self) -> dict[str, Any]:
        names = ("input_transform", "_given_transform")
        return {name: self._modules[name] for name in names if name in self._modules}

    def _transform_data(self) -> None:
        """Set inputs, outcomes and standard errors under the transforms, as they are."""
        points, rewards, variances = (self._buffers[name] for name in _DATA)
        with torch.no_grad():
            given = self._transforms
            if "input_transform" in given:
                points = given["input_transform"].preprocess_transform(points)
            if "_given_transform" in given:
                rewards, variances = given["_given_transform"](rewards, variances, X=points)
        sems = torch.zeros_like(rewards) if variances is None else variances.sqrt()
        for name, one in (("_points", points), ("_rewards", rewards), ("_sems", sems)):
            self.register_buffer(name, one, persistent=False)
        self._forget(*_FOLLOWING)

    def _located(self, X: Tensor) -> Tensor:
        """Transformed inputs (..., q, d) of inputs (..., q, d') that are in order."""
        self.eval()
        points = X if X.ndim < 2 else self.transform_inputs(X)
        dimension = self._points.shape[-1]
        if points.ndim < 2 or points.shape[-1] != dimension:
            after = " after `input_transform`" if "input_transform" in self._transforms else ""
            raise InvalidInput(
                f"`X` is of shape {tuple(X.shape)}, expected (..., q, {dimension}){after}: "
                f"q points of {dimension} inputs."
            )
        check_finite("X", X)
        return points if points.is_floating_point() else points.double()

    def _given(self, points: Tensor, values: Tensor, noise: Tensor | None) -> RobustGP:
        """The model given standardised outcomes (..., k, m) at transformed inputs (..., k, d)."""
        points = points.to(self._points.device, torch.float64)
        check_finite("Y", values)
        values = values.to(points)
        if noise is None:
            own = values.new_tensor(self._noises)
        else:
            check_finite("noise", noise, MOST_VARIANCE)
            known = noise.to(values).broadcast_to(values.shape)
            columns = zip(known.unbind(-1), self.fits, values.unbind(-1), strict=True)
            own = torch.stack([_standardised(*column) for column in columns], -1)
        shape = torch.broadcast_shapes(own.shape, values.shape[-2:])
        further = _Further(points.clone(), values.clone(), own.expand(shape).clone())
        other = self._copy()
        other._further = (*self._further, further)
        return other

    @cached_property
    def _noises(self) -> list[float]:
        """Noise variance of a measurement that is no outlier, of each standardised outcome."""
        columns = zip(self.fits, self._rewards.unbind(-1), self._sems.unbind(-1), strict=True)
        return [
            fitted.noise
            + float((fitted.units.chain.log_slope(y.double()).exp() * sems).square().mean())
            for fitted, y, sems in columns
        ]

    @cached_property
    def _laws(self) -> list[Law]:
        return [law_of(belief) for belief in self.beliefs]

    def _law(self, output: int) -> Law:
        law = self._laws[output]
        for further in self._further:
            law = further.on(law, output)
        return law

    def _outcome_model(self, device: torch.device | str) -> OutcomeModel:
        bounds = ends(self._points) if self._own_bounds is None else self._own_bounds
        low, high = bounds.to(device, torch.float64)
        problem = Problem(Box(low, high)).to(device)
        model = robust(problem).model(problem.domain)
        return model if self._rule is None else replace(model, hyperparameters=self._rule)

    def _observations(self, device: torch.device | str) -> list[Observations]:
        points = self._points.to("cpu", torch.float64)
        found = []
        for rewards, sems in zip(self._rewards.unbind(-1), self._sems.unbind(-1), strict=True):
            seen = Observations(points.shape[-1], torch.device(device))
            for point, reward, sem in zip(points, rewards.tolist(), sems.tolist(), strict=True):
                seen.append(point, reward, sem=sem)
            found.append(seen)
        return found

    def _set_noise(self) -> None:
        noise = torch.tensor(self._noises, dtype=torch.float64, device=self._points.device)
        self.likelihood.noise = noise.unsqueeze(-1) if len(noise) > 1 else noise

    def _copy(self) -> RobustGP:
        """A model with the same parts, of which each may be replaced."""
        other = copy.copy(self)
        other.__dict__ = dict(self.__dict__)
        for name in ("_buffers", "_modules"):
            other.__dict__[name] = self.__dict__[name].copy()
        return other

    def _forget(self, *names: str) -> None:
        for name in names:
            self.__dict__.pop(name, None)


def _joint(law: Law, points: Tensor) -> Moments:
    """Moments (..., q) of a law at points (..., q, d), also at none of them."""
    if 0 not in points.shape:
        return law(points)
    mean, covariance = law(points.new_zeros([max(1, size) for size in points.shape]))
    for dim in range(-points.ndim, -1):
        if points.shape[dim] == 0:
            mean, covariance = mean.narrow(dim + 1, 0, 0), covariance.narrow(dim, 0, 0)
    return Moments(mean, covariance[..., : mean.shape[-1]])


def _after_load(model: RobustGP, _: Any) -> None:
    """Transform the data by what was loaded."""
    model.eval()
    model._transform_data()
    if "fits" in model.__dict__:
        model._set_noise()


def _standardised(noise: Tensor, fitted: Fitted, values: Tensor) -> Tensor:
    """Noise variances (...) of outcomes, in the units of their standardised values (...)."""
    chain = fitted.units.chain
    return noise * chain.log_slope(chain.inverse(values)).exp().square()
