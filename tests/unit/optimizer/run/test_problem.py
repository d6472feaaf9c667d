"""The search's view of an engine: answers to several searches are judged at once."""

import numpy as np

from engine.accounts.ledger import ACCUMULATOR_INDEX, ACCUMULATORS
from engine.accounts.metrics import Span
from optimizer.goals.objectives import Goals, parse_objectives
from optimizer.run.problem import Answer, Judge, Question, judge_together


def test_searches_in_step_read_their_own_genes():
    """Each is judged as it would be alone, also where a formula reads a gene."""
    goals = Goals(parse_objectives("sum_r / gene.b,trades:min"), 1, gene_names=("a", "b"))
    judge = Judge(goals, (Span(100, 1.0),))
    genomes = [np.array([[0.0, 2.0], [0.0, 4.0]]), np.array([[0.0, 8.0]])]
    answers = []
    for part in genomes:
        accumulators = np.zeros((len(part), 1, len(ACCUMULATORS)))
        for name, value in {"trades": 9.0, "sum_r": 16.0, "equity": 1.1}.items():
            accumulators[:, :, ACCUMULATOR_INDEX[name]] = value
        answers.append(Answer(accumulators, None))
    questions = [Question(part, pools=False, judge=judge) for part in genomes]
    judged = judge_together(questions, answers)
    reached = [goals.natural(part.judged.evaluation.objectives)[:, 0].tolist() for part in judged]
    assert reached == [[8.0, 4.0], [2.0]]
