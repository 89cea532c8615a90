// SPDX-License-Identifier: BSD-3-Clause
// The calls themselves.
#include "operation.h"
#include <algorithm>

namespace process {

namespace {

template <class Call, class Start, class Prepare, class... Arguments>
int issue(Form form, weft_comm *comm, weft_request **request, Call call, Start start, Prepare prepare,
          Arguments... arguments) {
    switch (form) {
    case Form::blocking:
        return call(arguments..., comm);
    case Form::nonblocking:
        return start(arguments..., comm, request);
    case Form::persistent:
        break;
    }
    return prepare(arguments..., comm, request);
}

#define ISSUE(name, ...) issue(form, comm_, request, weft_##name, weft_i##name, weft_##name##_init, __VA_ARGS__)

} // namespace

int Operation::call(Form form, weft_request **request) {
    Side out = out_, in = in_; /* the arrays end with the call, and are rubbish then */
    const size_t *sent = out.counts.data(), *received = in.counts.data();
    const ptrdiff_t *from = out.displs.data(), *to = in.displs.data();
    int root = case_.root, code = WEFT_ERR_ARG;
    switch (case_.collective) {
    case INTER_BARRIER:
        code = issue(form, comm_, request, weft_barrier, weft_ibarrier, weft_barrier_init);
        break;
    case INTER_BCAST:
        code = ISSUE(bcast, recv_, in.count, in.type, root);
        break;
    case INTER_SCATTER:
        code = ISSUE(scatter, send_, out.count, out.type, recv_, in.count, in.type, root);
        break;
    case INTER_SCATTERV:
        code = ISSUE(scatterv, send_, sent, from, out.type, recv_, in.count, in.type, root);
        break;
    case INTER_GATHER:
        code = ISSUE(gather, send_, out.count, out.type, recv_, in.count, in.type, root);
        break;
    case INTER_GATHERV:
        code = ISSUE(gatherv, send_, out.count, out.type, recv_, received, to, in.type, root);
        break;
    case INTER_ALLGATHER:
        code = ISSUE(allgather, send_, out.count, out.type, recv_, in.count, in.type);
        break;
    case INTER_ALLGATHERV:
        code = ISSUE(allgatherv, send_, out.count, out.type, recv_, received, to, in.type);
        break;
    case INTER_ALLTOALL:
        code = ISSUE(alltoall, send_, out.count, out.type, recv_, in.count, in.type);
        break;
    case INTER_ALLTOALLV:
        code = ISSUE(alltoallv, send_, sent, from, out.type, recv_, received, to, in.type);
        break;
    case INTER_ALLTOALLW:
        code = ISSUE(alltoallw, send_, sent, from, out.types.data(), recv_, received, to, in.types.data());
        break;
    case INTER_REDUCE:
        code = ISSUE(reduce, send_, recv_, in.count, in.type, op_, root);
        break;
    case INTER_ALLREDUCE:
        code = ISSUE(allreduce, send_, recv_, in.count, in.type, op_);
        break;
    case INTER_REDUCE_SCATTER:
        code = ISSUE(reduce_scatter, send_, recv_, received, in.type, op_);
        break;
    case INTER_REDUCE_SCATTER_BLOCK:
        code = ISSUE(reduce_scatter_block, send_, recv_, in.count, in.type, op_);
        break;
    case INTER_SCAN:
        code = ISSUE(scan, send_, recv_, in.count, in.type, op_);
        break;
    case INTER_EXSCAN:
        code = ISSUE(exscan, send_, recv_, in.count, in.type, op_);
        break;
    case INTER_COLLECTIVES:
        break;
    }
    for (Side *side : {&out, &in}) {
        std::fill(side->counts.begin(), side->counts.end(), SIZE_MAX / 2);
        std::fill(side->displs.begin(), side->displs.end(), nowhere);
        std::fill(side->types.begin(), side->types.end(), nullptr);
    }
    return code;
}

} // namespace process
