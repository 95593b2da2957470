"""BoTorch model whose posterior is robust to outliers."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from botorch.models.model import FantasizeMixin, Model
from botorch.models.transforms.input import InputTransform
from botorch.models.transforms.outcome import ChainedOutcomeTransform, OutcomeTransform
from botorch.posteriors import Posterior, PosteriorList
from gpytorch.constraints import Positive
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.models.gp import GP
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.process_settings import own_settings
from surefoot._internal.user_warnings import warn
from surefoot.algorithms.robust import robust_model
from surefoot.beliefs import Belief, Credible
from surefoot.beliefs import Model as OutcomeModel
from surefoot.hyperparameters import HyperparameterFit
from surefoot.hyperparameters.fitted import Fitted
from surefoot.integrations.botorch.laws import Conditioned, Law, law_of, mixture_of
from surefoot.integrations.botorch.outcome_transform import ChainTransform, posterior_of
from surefoot.optimizer.serialization import from_tensor, to_tensor
from surefoot.regression.observations import Observations
from surefoot.risks import Mean
from surefoot.spaces import Box
from surefoot.types import InvalidInput

_JITTER = 1e-10  # of the prior variance, so that covariances of close points can be factored
# Standard deviation below which acquisition functions of BoTorch, and GPyTorch's law of the models
# in a list, take all for the same.
_FLOOR = 1e-5
_SMALL = 100.0 * _FLOOR  # spread of outcomes of which a hundredth is as small
_FOLLOWING = ("beliefs", "_laws", "_components")  # from data and hyperparameters, when asked for


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
    float64, posteriors have the dtype of the inputs.

    The posterior is Gaussian, or a `ChainPosterior` with exact samples and quantiles where the
    fitted transformation is not affine. With `integrated=True` it is a mixture over 16 samples of
    the hyperparameters, as that of BoTorch's fully Bayesian models; like these, it is not for
    one-shot acquisition functions such as `qKnowledgeGradient`.

    `condition_on_observations` and `fantasize` trust what they add: it has the noise of a reward
    that is no outlier. Where new measurements may be outliers, make a new model of all of them.

    `state_dict` has the hyperparameters. Loaded into a model of the same data, they give the same
    posterior without a fit; into one of more data, the posterior of these at those hyperparameters,
    until `fit_gpytorch_mll` fits again.

    Args:
        train_X: Inputs (n, d), in any units.
        train_Y: Outcomes (n, m), of which each has a model of its own.
        train_Yvar: Known variances (n, m) of the errors of the outcomes, in addition to the noise
            that is fitted.
        outcome_transform: Transform of the outcomes before the fitted one. None is needed for the
            posterior. Acquisition functions of BoTorch have tolerances in the units of the
            outcomes, of 1e-6 for instance; a warning says where outcomes vary too little for these.
        input_transform: Transform of the inputs. None is needed for their scale.
        bounds: Bounds (2, d) of the (transformed) inputs, relative to which lengthscales have their
            prior; by default, those of the data.
        integrated: Whether to integrate over the hyperparameters, with up to 1,000 outcomes.
        hyperparameters: Rule by which hyperparameters are fitted; that of `robust_ucb` by default.
            `HyperparameterFit(warped=False)` fits no transformation.

    Raises:
        InvalidInput: If shapes do not match, or values are not finite.

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
        integrated: bool = False,
        hyperparameters: HyperparameterFit | None = None,
    ) -> None:
        _check_data(train_X, train_Y, train_Yvar)
        if hyperparameters is not None:
            checks.instance("hyperparameters", hyperparameters, HyperparameterFit)
        _warn_of_small_outcomes(train_Y)
        super().__init__()
        self._dimension = train_X.shape[-1]
        self._is_ensemble = checks.truth("integrated", integrated)
        if input_transform is not None:
            self.input_transform = input_transform.to(train_X)
        if outcome_transform is not None:
            self._given_transform = outcome_transform.to(train_Y)
        with torch.no_grad():
            points = self.transform_inputs(train_X)
            if outcome_transform is not None:
                train_Y, train_Yvar = outcome_transform(train_Y, train_Yvar, X=points)
        sems = torch.zeros_like(train_Y) if train_Yvar is None else train_Yvar.sqrt()
        # What is measured is no state: a state dict has the hyperparameters.
        self.register_buffer("_points", points.detach(), persistent=False)
        self.register_buffer("_rewards", train_Y.detach(), persistent=False)
        self.register_buffer("_sems", sems.detach(), persistent=False)
        ends = _ends(points) if bounds is None else _checked_bounds(bounds, points)
        self.register_buffer("_bounds", ends, persistent=False)
        self._rule = hyperparameters
        shape = torch.Size([] if self.num_outputs == 1 else [self.num_outputs])
        self.likelihood = GaussianLikelihood(batch_shape=shape, noise_constraint=Positive())
        self.likelihood.to(points.device, torch.float64).requires_grad_(False)
        self._further: tuple[_Further, ...] = ()
        self.eval()

    # Hyperparameters and beliefs

    @cached_property
    def fits(self) -> list[Fitted]:
        """Kernel, noise, transformation and weights of each outcome."""
        with own_settings():
            model = self._outcome_model("cpu")
            fits = [model.fit(one) for one in self._observations("cpu")]
        self._set_noise(fits)
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
                belief = Belief(model.space, Mean(), outcome, outcome.band, interval=Credible())
                found.append(belief)
        return found

    @property
    def outlier_weights(self) -> Tensor:
        """Weight in [0, 1] of each outcome (n, m) in the estimate, near 0 for outliers."""
        columns = [belief.weights for belief in self.beliefs]
        return torch.stack(columns, -1).to(self._rewards)

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
        self._set_noise(self.fits)
        return mll.eval()

    # BoTorch's protocol

    @property
    def num_outputs(self) -> int:
        """Number m of outcomes."""
        return self._rewards.shape[-1]

    @property
    def batch_shape(self) -> torch.Size:
        """Batch shape of what was conditioned on, then the 16 components of a mixture."""
        components = torch.Size([self._components] if self._is_ensemble else [])
        shapes = [shape for one in self._further for shape in _batches(one)]
        return torch.broadcast_shapes(components, *shapes)

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
            observation_noise: Whether to add the noise of a measurement that is no outlier; or
                noise variances (..., q, m) of standardised outcomes.
            posterior_transform: Transform of the posterior.

        Returns:
            Posterior of outcomes (..., q, m); of (..., 16, q, m) if `integrated`.
        """
        self._check_inputs(X)
        self.eval()
        X = self.transform_inputs(X)
        points = X.to(self._points.device, torch.float64)
        if self._is_ensemble:
            points = points.unsqueeze(-3)
        chosen = range(self.num_outputs) if output_indices is None else output_indices
        parts = []
        for output in chosen:
            mean, covariance = self._law(output)(points)
            jitter = self._jitter(output)
            noise: Any = jitter
            if isinstance(observation_noise, Tensor):
                noise = noise + self._by_component(observation_noise)[..., output]
            elif observation_noise:
                noise = noise + self.fits[output].noise
            own = torch.as_tensor(noise, dtype=mean.dtype, device=mean.device)
            # Beside what was measured, rounding may leave a negative variance.
            lacking = (jitter - own - covariance.diagonal(dim1=-2, dim2=-1)).clamp_min(0.0)
            covariance = covariance + torch.diag_embed(own + lacking)
            parts.append(posterior_of(mean.to(X), covariance.to(X), mixture=self._is_ensemble))
        whole: Any = parts[0] if len(parts) == 1 else PosteriorList(*parts)
        transform = self.outcome_transform
        if output_indices is not None:
            transform = transform.subset_output(list(chosen))
        whole = transform.untransform_posterior(whole, X=X)
        return whole if posterior_transform is None else posterior_transform(whole, X=X)

    def condition_on_observations(
        self, X: Tensor, Y: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> RobustGP:
        """The model given further outcomes, at the same hyperparameters.

        Args:
            X: Inputs (..., k, d).
            Y: Outcomes (..., k, m), with the batch of `X` or further dimensions before it.
            noise: Noise variances (..., k, m) of standardised outcomes; by default, the noise of
                measurements that are no outliers.
            kwargs: Ignored, as options of other models are.

        Returns:
            The model; the one at hand stays as it is.
        """
        self._check_inputs(X)
        if Y.ndim < 2 or Y.shape[-2:] != (X.shape[-2], self.num_outputs):
            raise InvalidInput(
                f"`Y` is of shape {tuple(Y.shape)}, expected (..., {X.shape[-2]}, "
                f"{self.num_outputs}) at inputs of shape {tuple(X.shape)}."
            )
        values, _ = self.outcome_transform(Y, X=X)
        return self._given(X, values, noise)

    def get_fantasy_model(
        self, inputs: Tensor, targets: Tensor, noise: Tensor | None = None, **kwargs: Any
    ) -> RobustGP:
        """The model of one outcome given further ones, as `ModelListGP` asks for it.

        Args:
            inputs: Inputs (..., k, d).
            targets: Standardised outcomes (..., k).
            noise: Their noise variances (..., k).
            kwargs: Ignored.
        """
        own = None if noise is None else noise.unsqueeze(-1)
        return self._given(inputs, targets.unsqueeze(-1), own)

    def subset_output(self, idcs: list[int]) -> RobustGP:
        """The model of some of the outcomes."""
        other = self._copy()
        for name in ("_rewards", "_sems"):
            other._buffers[name] = getattr(self, name)[:, idcs]
        for name in ("fits", "beliefs"):
            if name in self.__dict__:
                other.__dict__[name] = [self.__dict__[name][index] for index in idcs]
        other._forget("_laws")
        if hasattr(self, "_given_transform"):
            other._given_transform = self._given_transform.subset_output(idcs)
        shape = torch.Size([] if len(idcs) == 1 else [len(idcs)])
        other.likelihood = GaussianLikelihood(batch_shape=shape, noise_constraint=Positive())
        other.likelihood.to(self._points.device, torch.float64).requires_grad_(False)
        if "fits" in other.__dict__:
            other._set_noise(other.fits)
        other._further = tuple(one.of(idcs) for one in self._further)
        return other

    # State

    def get_extra_state(self) -> Tensor:
        """The hyperparameters as bytes (k,), which no code is read from."""
        return to_tensor(self.fits)

    def set_extra_state(self, state: Any) -> None:
        """Take over hyperparameters of `get_extra_state`."""
        fits = from_tensor(state)
        self._check_fits(fits)
        self._forget(*_FOLLOWING)
        self.__dict__["fits"] = fits

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

    def _given(self, X: Tensor, values: Tensor, noise: Tensor | None) -> RobustGP:
        """The model given standardised outcomes (..., k, m) at inputs (..., k, d)."""
        points = self.transform_inputs(X).to(self._points.device, torch.float64)
        values = values.to(points)
        if self._is_ensemble:
            has_components = values.ndim > points.ndim and values.shape[-3] == self._components
            values = values if has_components else values.unsqueeze(-3)
            points = points.unsqueeze(-3)
        if noise is None:
            own = values.new_tensor([fitted.noise for fitted in self.fits])
        else:
            own = self._by_component(noise).to(values)
        shape = torch.broadcast_shapes(own.shape, values.shape[-2:])
        other = self._copy()
        other._further = (*self._further, _Further(points, values, own.expand(shape)))
        return other

    @cached_property
    def _laws(self) -> list[Law]:
        of = mixture_of if self._is_ensemble else law_of
        return [of(belief) for belief in self.beliefs]

    def _law(self, output: int) -> Law:
        law = self._laws[output]
        for further in self._further:
            law = further.on(law, output)
        return law

    @cached_property
    def _components(self) -> int:
        """Number of components of the mixture."""
        one = self._points[:1, None].double()
        return self.beliefs[0].components(one).mean.shape[-2]

    def _jitter(self, output: int) -> float:
        return _JITTER * float(self.fits[output].kernel.outputscale)

    def _by_component(self, noise: Tensor) -> Tensor:
        return noise.unsqueeze(-3) if self._is_ensemble and noise.ndim > 2 else noise

    def _outcome_model(self, device: torch.device | str) -> OutcomeModel:
        low, high = self._bounds.to(device, torch.float64)
        model = robust_model(Box(low, high).to(device))
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

    def _set_noise(self, fits: Sequence[Fitted]) -> None:
        noise = self._bounds.new_tensor([one.noise for one in fits], dtype=torch.float64)
        self.likelihood.noise = noise.unsqueeze(-1) if len(fits) > 1 else noise

    def _check_inputs(self, X: Tensor) -> None:
        if X.ndim < 2 or X.shape[-1] != self._dimension:
            raise InvalidInput(
                f"`X` is of shape {tuple(X.shape)}, expected (..., q, {self._dimension}): q points "
                f"of {self._dimension} inputs."
            )

    def _check_fits(self, fits: Sequence[Fitted]) -> None:
        dimension = self._points.shape[-1]
        came = {one.kernel.base_kernel.lengthscale.shape[-1] for one in fits}
        most = max((len(one.weights) for one in fits), default=0)
        if len(fits) != self.num_outputs or came != {dimension} or most > len(self._points):
            raise InvalidInput(
                f"the state is of {len(fits)} outcomes at {most} points of {sorted(came)} inputs, "
                f"expected {self.num_outputs} outcomes at no more than {len(self._points)} points "
                f"of {dimension} inputs: load it into a model of the same data or more."
            )

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


def _ends(points: Tensor) -> Tensor:
    """Bounds (2, d) of points (n, d), apart in every coordinate."""
    low, high = points.amin(0), points.amax(0)
    return torch.stack([low, torch.where(high > low, high, low + 1.0)])


def _checked_bounds(bounds: Tensor | Sequence, points: Tensor) -> Tensor:
    """Bounds (2, d) as a tensor; `InvalidInput` unless lower ones are below upper ones."""
    ends = torch.as_tensor(bounds).to(points)
    if ends.shape != (2, points.shape[-1]) or not bool((ends[0] < ends[1]).all()):
        raise InvalidInput(
            f"`bounds` is {checks.shown(ends.tolist())}, expected lower and upper bounds "
            f"(2, {points.shape[-1]}), the lower ones below the upper ones."
        )
    return ends


def _batches(further: _Further) -> tuple[torch.Size, torch.Size]:
    return further.points.shape[:-2], further.values.shape[:-2]


def _warn_of_small_outcomes(Y: Tensor) -> None:
    """Warn of outcomes (n, m) that vary by less than others take for nothing."""
    ends = torch.tensor([0.25, 0.75], dtype=torch.float64, device=Y.device)
    spread = torch.quantile(Y.detach().double(), ends, 0).diff(dim=0)[0]
    small = (spread > 0.0) & (spread < _SMALL)
    if bool(small.any()):
        least = float(spread[small].min())
        unit = 10.0 ** round(-math.log10(least))
        warn(
            f"`train_Y` varies by only {least:.1g} (its interquartile range). The posterior of "
            "`RobustGP` is right, but acquisition functions of BoTorch, and `ModelListGP`, take "
            f"standard deviations below 1e-6 to {_FLOOR:.0e} for larger ones, whatever the units: "
            f"pass outcomes in another unit, such as {unit:.0e} * train_Y.",
        )


def _check_data(X: object, Y: object, Yvar: object) -> None:
    """`InvalidInput` unless inputs (n, d), outcomes and variances (n, m) go together."""
    given = {"train_X": X, "train_Y": Y} | ({} if Yvar is None else {"train_Yvar": Yvar})
    for name, value in given.items():
        if not isinstance(value, Tensor) or value.ndim != 2 or 0 in value.shape:
            tensor = value if isinstance(value, Tensor) else None
            kind = f"of type {type(value).__name__}"
            came = kind if tensor is None else f"of shape {tuple(tensor.shape)}"
            columns = "d" if name == "train_X" else "m"
            raise InvalidInput(
                f"`{name}` is {came}, expected a tensor (n, {columns}) with n > 0: "
                "batches of data sets are not supported, make a model of each."
            )
        if not bool(value.isfinite().all()):
            bad = int((~value.isfinite()).any(-1).nonzero()[0])
            raise InvalidInput(
                f"`{name}` is not finite in row {bad}, expected finite numbers: leave the row out."
            )
        if len(value) != len(X):  # type: ignore[arg-type]
            raise InvalidInput(
                f"`train_X` has {len(X)} rows and `{name}` {len(value)}, "  # type: ignore[arg-type]
                "expected as many."
            )
    if isinstance(Yvar, Tensor):
        if Yvar.shape != Y.shape:  # type: ignore[attr-defined]
            raise InvalidInput(
                f"`train_Yvar` is of shape {tuple(Yvar.shape)}, expected that of `train_Y`, "
                f"{tuple(Y.shape)}."  # type: ignore[attr-defined]
            )
        if bool((Yvar < 0.0).any()):
            raise InvalidInput(
                f"`train_Yvar` is {float(Yvar.min()):.3g}, expected variances of at least 0."
            )
