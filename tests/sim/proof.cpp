// SPDX-License-Identifier: BSD-3-Clause
#include "proof.h"
#include "textbook.h"

namespace sim {

size_t messages_of(const Algorithm &algorithm, int size) {
    return cost_of(algorithm.collective, algorithm.is, size_t(size), 0, 1).messages;
}

std::set<std::string> &proven() {
    static std::set<std::string> names;
    return names;
}

::testing::AssertionResult prove(const Algorithm &algorithm, Shape shape, int orders) {
    static Plan plan;
    static Runner runner;
    shape.commuting = algorithm.is.commutes;
    shape.alone = shape.alone && !algorithm.is.needs_counts;
    Problem problem(algorithm.collective, shape);
    auto failure = [&](const std::string &fault) {
        return ::testing::AssertionFailure() << name_of(algorithm) << ", " << problem.shape() << ": " << fault;
    };
    plan.build(algorithm.is, problem);
    std::string fault = plan.broken_rule(problem);
    if (!fault.empty())
        return failure(fault);
    for (int order = 0; order < orders; order++) {
        if (order)
            problem.reset();
        Outcome outcome = runner.run(plan, problem, uint64_t(order) * 1000003 + uint64_t(shape.size) * (order != 0));
        if (outcome.fault.empty())
            outcome.fault = problem.difference();
        if (!outcome.fault.empty())
            return failure(outcome.fault + " (order " + std::to_string(order) + ")");
        if (outcome.left_over)
            return failure("messages without a partner");
    }
    proven().insert(name_of(algorithm));
    return ::testing::AssertionSuccess();
}

} // namespace sim
