"""Ax's `Client` with an outcome constraint, on models that are robust to outliers."""

import random

from ax.adapter.registry import Generators
from ax.api.client import Client
from ax.api.configs import RangeParameterConfig
from ax.generation_strategy.generation_node import GenerationNode
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import MinTrials
from ax.generators.torch.botorch_modular.surrogate import ModelConfig, SurrogateSpec
from ax.generators.torch.botorch_modular.utils import fit_botorch_model
from ax.storage.botorch_modular_registry import register_model
from botorch.fit import fit_gpytorch_mll

from surefoot.integrations.botorch import RobustGP

TRIALS, INITIAL = 9, 8


@fit_botorch_model.register(RobustGP)
def fit(model, mll_class, mll_options=None):
    """Fit where Ax asks for it."""
    fit_gpytorch_mll(mll_class(model.likelihood, model))


register_model(RobustGP)  # so that a client can be saved
robust = SurrogateSpec(model_configs=[ModelConfig(botorch_model_class=RobustGP)])
sobol = GenerationNode(
    "sobol",
    [GeneratorSpec(Generators.SOBOL, generator_kwargs={"seed": 0})],
    transition_criteria=[MinTrials(threshold=INITIAL, transition_to="robust")],
)
search = GenerationNode(
    "robust", [GeneratorSpec(Generators.BOTORCH_MODULAR, {"surrogate_spec": robust})]
)
client = Client(random_seed=0)
client.configure_experiment(
    [RangeParameterConfig(name=name, bounds=(0.0, 1.0), parameter_type="float") for name in "ab"]
)
client.configure_optimization(objective="-latency", outcome_constraints=["memory <= 1.5"])
client.set_generation_strategy(GenerationStrategy(nodes=[sobol, search]))
random.seed(0)
for trial in range(TRIALS):
    ((index, knobs),) = client.get_next_trials(max_trials=1).items()
    latency = (knobs["a"] - 0.7) ** 2 + (knobs["b"] - 0.4) ** 2 + random.gauss(0.0, 0.01)
    outlier = 10.0 if trial == 3 else 0.0
    memory = knobs["a"] + knobs["b"]
    client.complete_trial(index, {"latency": latency + outlier, "memory": memory})
model = client._generation_strategy.adapter.generator.surrogate.model
best, predicted, _, _ = client.get_best_parameterization()
print(f"best {best}: {predicted}")
