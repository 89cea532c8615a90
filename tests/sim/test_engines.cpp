// SPDX-License-Identifier: BSD-3-Clause
// Every algorithm on real engines over the sim transport, which holds messages back at random: what the runner proves of the
// schedules holds for the engine that runs them. A schedule that waits for ever is found, since then nothing moves.
#include "effort.h"
#include "job.h"
#include "proof.h"
#include <weft/datatype.h>

namespace sim {
namespace {

constexpr unsigned all = INTER_BIT(INTER_COLLECTIVES) - 1;

size_t buffers_laid_out = 0;

class Engines : public ::testing::TestWithParam<Algorithm> {};
class ComposedEngines : public ::testing::TestWithParam<Algorithm> {};

bool moves_alone(const Algorithm &algorithm) {
    return !inter_is(algorithm.collective, INTER_REDUCTIONS | INTER_BIT(INTER_BARRIER));
}

// A rank's buffers, or some of them, as words apart: blocks as long as the ranks', or others.
class Strided {
  public:
    // Takes what the binding's buffers have. What the engine does not take so stays in them.
    Strided(Problem &problem, int rank, inter_execution &execution, std::mt19937_64 &random)
        : problem_(problem), rank_(rank), binding_(problem.binding(rank)) {
        for (inter_buffer buffer : {INTER_SEND, INTER_RECV})
            if (problem.area(rank, buffer).exists && problem.area(rank, buffer).words && random() % 4)
                lay_out(buffer, random);
        inter_execution_lay_out(&execution, &binding_);
        for (inter_buffer buffer : {INTER_SEND, INTER_RECV})
            if (binding_.layouts[buffer])
                move(buffer, true);
    }
    Strided(const Strided &) = delete;
    Strided &operator=(const Strided &) = delete;

    const inter_binding *binding() const {
        return &binding_;
    }
    int laid_out() const {
        return (binding_.layouts[INTER_SEND] != nullptr) + (binding_.layouts[INTER_RECV] != nullptr);
    }
    // Puts it back where the problem looks for it; the sender's first, which may lie in the other.
    void finish() {
        for (inter_buffer buffer : {INTER_SEND, INTER_RECV})
            if (binding_.layouts[buffer])
                move(buffer, false);
        for (const Side &side : sides_)
            for (size_t i = 0; i < side.words.size(); i++)
                ASSERT_TRUE(i % 3 == 0 || side.words[i] == hole) << "a hole was written to";
    }

  private:
    // A word, and room for two.
    static const weft_datatype *apart() {
        static weft_datatype *const made = [] {
            weft_datatype *type = nullptr;
            EXPECT_EQ(weft_type_resized(WEFT_UINT64_T, 0, 3 * sizeof(word), &type), WEFT_SUCCESS);
            return type;
        }();
        return made;
    }

    static constexpr word hole = 0x401e401e;
    struct Side {
        std::vector<word> words;
        std::vector<core_data> blocks;
        std::vector<ptrdiff_t> begins;
        inter_layout layout{};
    };

    void lay_out(inter_buffer buffer, std::mt19937_64 &random) {
        Side &side = sides_[buffer];
        const size_t words_here = problem_.area(rank_, buffer).words;
        side.words.assign(3 * words_here, hole);
        const inter_view view = problem_.view(rank_);
        const size_t unit = random() % 4 ? std::max<size_t>(1, view.count) : 1 + random() % words_here;
        for (size_t begin = 0, words; begin < words_here; begin += words) {
            words = std::min(unit, words_here - begin);
            side.blocks.push_back({side.words.data() + 3 * begin, apart(), words});
            side.begins.push_back(ptrdiff_t(begin * sizeof(word)));
            if (random() % 8 == 0) { // one of nothing
                side.blocks.push_back({nullptr, nullptr, 0});
                side.begins.push_back(ptrdiff_t((begin + words) * sizeof(word)));
            }
        }
        side.layout.blocks = side.blocks.data();
        side.layout.begins = side.begins.data();
        side.layout.count = side.blocks.size();
        if (random() % 2)
            side.layout.all = {side.words.data(), apart(), words_here};
        binding_.layouts[buffer] = &side.layout;
    }
    void move(inter_buffer buffer, bool out) {
        Problem::Area area = problem_.area(rank_, buffer);
        word *words = problem_.memory(rank_).data() + area.begin;
        for (size_t i = 0; i < area.words; i++)
            (out ? sides_[buffer].words[3 * i] : words[i]) = out ? words[i] : sides_[buffer].words[3 * i];
    }

    Problem &problem_;
    int rank_;
    inter_binding binding_;
    Side sides_[2];
};

// On executions that have run: some ranks' data lie apart. How many buffers did; −1: it was not solved.
int solves_strided(Problem &problem, Job &job, std::mt19937_64 &random) {
    std::deque<Strided> strided;
    int laid_out = 0;
    problem.reset();
    for (int rank = 0; rank < problem.shape().size; rank++) {
        inter_execution &execution = job.executions(rank)[0];
        strided.emplace_back(problem, rank, execution, random);
        laid_out += strided.back().laid_out();
        inter_execution_run(&execution, {1, 8, true, 0}, strided.back().binding());
    }
    if (!job.finish())
        return -1;
    for (Strided &each : strided)
        each.finish();
    return problem.difference().empty() ? laid_out : -1;
}

// Runs one problem to its solution, and once more on the same executions, which then need no memory.
::testing::AssertionResult solves(const Algorithm &algorithm, Shape shape, uint64_t seed) {
    shape.commuting = algorithm.is.commutes;
    shape.alone = shape.alone && !algorithm.is.needs_counts;
    Problem problem(algorithm.collective, shape);
    Job job(shape.size, seed);
    auto failure = [&](const std::string &fault) {
        return ::testing::AssertionFailure()
               << name_of(algorithm) << ", " << problem.shape() << ", seed " << seed << ": " << fault;
    };
    for (int rank = 0; rank < shape.size; rank++)
        if (job.start(rank, algorithm.is, problem.view(rank), problem.binding(rank), {1, 7, false, 0}))
            return failure("not started");
    for (uint64_t again = 0; again < 2; again++) {
        if (again)
            problem.reset();
        for (int rank = 0; again && rank < shape.size; rank++) {
            inter_binding binding = problem.binding(rank);
            inter_execution_run(&job.executions(rank)[0], {1, 7, true, 0}, &binding);
        }
        if (!job.finish())
            return failure("deadlock");
        for (int rank = 0; rank < shape.size; rank++)
            if (job.finished_calls(rank) != int(again) + 1 || job.finished_error(rank) ||
                job.engine(rank).allocations != 1)
                return failure("rank " + std::to_string(rank) + " ended " + std::to_string(job.finished_calls(rank)) +
                               " times, error " + std::to_string(job.finished_error(rank)) + ", " +
                               std::to_string(job.engine(rank).allocations) + " allocations");
        if (job.counts().waiting_messages || job.counts().waiting_receives)
            return failure("messages or receives are left over");
        std::string difference = problem.difference();
        if (!difference.empty())
            return failure(difference);
    }
    std::mt19937_64 random(seed);
    int laid_out = moves_alone(algorithm) ? solves_strided(problem, job, random) : 0;
    if (laid_out < 0)
        return failure("with data that lie apart");
    buffers_laid_out += size_t(laid_out);
    return ::testing::AssertionSuccess();
}

Shape shape_number(int size, unsigned n) {
    return varied(size, n, n % 3 == 2 ? 0 : 1 + n % 5);
}

} // namespace

TEST_P(Engines, SolveProblemsInRandomOrders) {
    unsigned n = 0;
    buffers_laid_out = 0;
    const int every_size_to = effort::sanitized ? 9 : 33;
    for (int size = 1; size <= 128; size += size < every_size_to ? 1 : size < 33 ? 5 : 19)
        for (int root : inter_is(GetParam().collective, INTER_ROOTED) ? some_roots(size) : std::set<int>{0})
            for (uint64_t seed = 0; seed < effort::rounds(size < 10 ? 50u : size < 34 ? 8u : 2u); seed++) {
                Shape shape = shape_number(size, n++);
                shape.root = root;
                ASSERT_TRUE(solves(GetParam(), shape, seed * 977));
            }
    if (moves_alone(GetParam())) {
        EXPECT_GT(buffers_laid_out, 0u);
    }
}

TEST_P(Engines, RunSegmentsBesideEachOther) {
    if (!inter_is(GetParam().collective, INTER_VECTORS | INTER_CUT_BLOCKS))
        return;
    Algorithm segmented = GetParam();
    segmented.is.segment_bytes = 16;
    for (int size : {2, 3, 5, 8, 13})
        for (size_t count : {2, 3, 15, 16, 17, 33, 60})
            for (uint64_t seed = 0; seed < effort::rounds(8u); seed++) {
                Shape shape{size, size / 2, count};
                shape.in_place = seed & 1;
                ASSERT_TRUE(solves(segmented, shape, seed));
            }
}

TEST_P(ComposedEngines, SolveProblemsInRandomOrders) {
    for (int size : {1, 2, 3, 5, 8, 13})
        for (unsigned n = unsigned(size) % 3; n < effort::rounds(60u); n += 3)
            ASSERT_TRUE(solves(GetParam(), shape_number(size, n), n));
}

// In a job where one rank is late, nobody leaves a barrier.
TEST(Barrier, NobodyLeavesBeforeTheLastHasCome) {
    for (const Algorithm &algorithm : algorithms_of(INTER_BIT(INTER_BARRIER), false))
        for (int size : {2, 3, 5, 7, 8, 13, 32, 100})
            for (int late : some_roots(size)) {
                Shape shape;
                shape.size = size;
                Problem problem(INTER_BARRIER, shape);
                Job job(size, 0);
                for (int rank = 0; rank < size; rank++)
                    if (rank != late)
                        job.start(rank, algorithm.is, problem.view(rank), problem.binding(rank));
                EXPECT_FALSE(job.finish());
                for (int rank = 0; rank < size; rank++)
                    EXPECT_EQ(job.finished_calls(rank), 0) << name_of(algorithm) << ", p = " << size;
                job.start(late, algorithm.is, problem.view(late), problem.binding(late));
                EXPECT_TRUE(job.finish());
            }
}

INSTANTIATE_TEST_SUITE_P(Every, Engines, ::testing::ValuesIn(algorithms_of(all, false)), test_name);
INSTANTIATE_TEST_SUITE_P(Every, ComposedEngines, ::testing::ValuesIn(algorithms_of(all, true)), test_name);

} // namespace sim
