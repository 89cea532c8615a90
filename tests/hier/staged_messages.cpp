// SPDX-License-Identifier: BSD-3-Clause
// Messages of random derived types, another one at each end: between threads, between processes, and to the sender itself, short
// and long, early and late, whole, shorter than the receive and longer. What must be in every byte follows from the type maps.
#include "effort.h"
#include "staged.h"
#include <algorithm>

namespace {

using namespace staged;

enum class Way { irecv_first, sendrecv, mprobe, late, buffered, persistent, longer };
const char *const names[] = {
    "irecv first", "sendrecv", "mprobe", "late receive", "buffered", "persistent", "longer than the receive"};
constexpr Way ways[] = {Way::irecv_first, Way::sendrecv,   Way::mprobe, Way::late,
                        Way::buffered,    Way::persistent, Way::longer};
constexpr int tag = 17;

struct Side {
    oracle::type type;
    size_t count;
    std::unique_ptr<Image> image;

    Side(oracle::maker *maker, size_t block, size_t blocks)
        : type(type_of_block(maker, block, blocks)), count(block / std::max<size_t>(type.of.size(), 1) * blocks),
          image(new Image({&type.of}, {count}, {0})) {}
};

// Every rank sends to the one `distance` behind it, in the ring of all, `sent` blocks of `block` bytes; who receives has room
// for `room` of them.
class Exchange {
  public:
    Exchange(weft_comm *comm, Way way, size_t block, size_t sent, size_t room, int distance, uint64_t seed)
        : comm_(comm), way_(way), seed_(seed), rank_(weft_rank(comm)), size_(weft_size(comm)),
          to_((rank_ + distance) % size_), from_((rank_ - distance + size_) % size_), bytes_(block * sent),
          maker_(unsigned(job::hash(seed, uint64_t(rank_), 3))), send_(&maker_.made, block, sent),
          recv_(&maker_.made, block, room),
          what_(std::string(names[int(way)]) + ", " + std::to_string(bytes_) + " bytes, distance " +
                std::to_string(distance) + ", seed " + std::to_string(seed)) {}

    void perform() {
        if (way_ == Way::persistent) {
            persistent();
            return;
        }
        begin(0);
        weft_status status{};
        int code = exchange(&status);
        if (way_ == Way::longer)
            job::check(code == WEFT_ERR_TRUNCATE, comm_, what_ + ": " + weft_strerror(code));
        else
            job::ok(code, comm_, what_);
        end(status);
        weft_barrier(comm_); /* the next ones come early or late as their way says */
    }

  private:
    struct Maker {
        oracle::maker made;
        explicit Maker(unsigned seed) : made(seed, {WEFT_BYTE, WEFT_INT16_T, WEFT_INT32_T, WEFT_DOUBLE}) {}
    };

    void begin(uint64_t round) {
        for (Side *side : {&send_, &recv_})
            side->image->fill(job::hash(seed_, uint64_t(rank_), side == &send_, round + 7));
        send_.image->set(0, content(bytes_, seed_, rank_, to_, round));
        recv_.image->expect(0, content(bytes_, seed_, from_, rank_, round));
    }
    void end(const weft_status &status) {
        size_t room = recv_.count * recv_.type.of.size(), came = std::min(bytes_, room);
        job::check(send_.image->is_as_expected(), comm_, what_ + ": what was sent");
        job::check(recv_.image->is_as_expected(), comm_, what_ + ": what was received");
        job::check(status.source == from_ && status.tag == tag, comm_, what_ + ": the status");
        if (!recv_.type.handle)
            return;
        size_t count = 0, elements = 0;
        job::ok(weft_get_count(&status, recv_.type.handle, &count), comm_, what_);
        job::check(count == came / recv_.type.of.size(), comm_, what_ + ": the count");
        job::ok(weft_get_elements(&status, recv_.type.handle, &elements), comm_, what_);
        job::check(elements == count * recv_.type.of.entries.size(), comm_, what_ + ": the elements");
    }
    int irecv(weft_request **request) {
        return weft_irecv(recv_.image->buffer(), recv_.count, recv_.type.handle, from_, tag, comm_, request);
    }
    int isend(weft_request **request) {
        auto call = seed_ % 2 ? weft_issend : weft_isend;
        return call(send_.image->buffer(), send_.count, send_.type.handle, to_, tag, comm_, request);
    }
    // What is under way has taken the types over.
    void let_go() {
        job::ok(weft_type_free(&send_.type.handle), comm_, what_);
        job::ok(weft_type_free(&recv_.type.handle), comm_, what_);
    }
    // What was sent is in the attached buffer, without the holes, and its memory the sender's again at once.
    int buffered(weft_status *status) {
        std::vector<char> room(WEFT_BSEND_OVERHEAD + bytes_);
        void *detached = nullptr;
        size_t room_bytes = 0;
        job::ok(weft_comm_attach_buffer(comm_, room.data(), room.size()), comm_, what_);
        job::ok(weft_bsend(send_.image->buffer(), send_.count, send_.type.handle, to_, tag, comm_), comm_, what_);
        send_.image->fill(job::hash(seed_, uint64_t(rank_), 2));
        int code = weft_recv(recv_.image->buffer(), recv_.count, recv_.type.handle, from_, tag, comm_, status);
        job::ok(weft_comm_detach_buffer(comm_, &detached, &room_bytes), comm_, what_);
        job::check(detached == room.data() && room_bytes == room.size(), comm_, what_ + ": the buffer");
        return code;
    }
    int exchange(weft_status *status) {
        weft_request *requests[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        weft_status statuses[2];
        weft_message *message = WEFT_MESSAGE_NULL;
        int code;
        switch (way_) {
        case Way::sendrecv:
            return weft_sendrecv(send_.image->buffer(), send_.count, send_.type.handle, to_, tag, recv_.image->buffer(),
                                 recv_.count, recv_.type.handle, from_, tag, comm_, status);
        case Way::buffered:
            return buffered(status);
        case Way::mprobe:
            job::ok(isend(&requests[0]), comm_, what_);
            job::ok(weft_mprobe(from_, tag, comm_, &message, status), comm_, what_);
            job::check(status->source == from_, comm_, what_ + ": the source");
            code = weft_mrecv(recv_.image->buffer(), recv_.count, recv_.type.handle, &message, status);
            job::ok(weft_wait(&requests[0], WEFT_STATUS_IGNORE), comm_, what_);
            return code;
        case Way::late:
            job::ok(isend(&requests[0]), comm_, what_);
            job::ok(weft_barrier(comm_), comm_, what_); /* it has been offered */
            code =
                weft_recv(recv_.image->buffer(), recv_.count, recv_.type.handle, WEFT_ANY_SOURCE, tag, comm_, status);
            job::ok(weft_wait(&requests[0], WEFT_STATUS_IGNORE), comm_, what_);
            return code;
        default:
            job::ok(irecv(&requests[1]), comm_, what_);
            job::ok(weft_barrier(comm_), comm_, what_); /* all are posted */
            job::ok(isend(&requests[0]), comm_, what_);
            let_go();
            code = weft_waitall(2, requests, statuses);
            *status = statuses[1];
            return code;
        }
    }
    void persistent() {
        weft_request *requests[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        weft_status statuses[2] = {};
        job::ok(weft_recv_init(recv_.image->buffer(), recv_.count, recv_.type.handle, from_, tag, comm_, &requests[1]),
                comm_, what_);
        job::ok(weft_send_init(send_.image->buffer(), send_.count, send_.type.handle, to_, tag, comm_, &requests[0]),
                comm_, what_);
        let_go();
        for (uint64_t round = 0; round < rounds; round++) {
            begin(round);
            job::ok(weft_startall(2, requests), comm_, what_);
            job::ok(weft_waitall(2, requests, statuses), comm_, what_);
            end(statuses[1]);
        }
        for (weft_request *&request : requests)
            job::ok(weft_request_free(&request), comm_, what_);
    }

    weft_comm *comm_;
    Way way_;
    uint64_t seed_;
    int rank_, size_, to_, from_;
    size_t bytes_;
    Maker maker_;
    Side send_, recv_;
    std::string what_;
};

// All blocks divide into elements of many sizes.
void run_all(weft_comm *comm, size_t block, size_t blocks, uint64_t seeds) {
    int size = weft_size(comm);
    for (Way way : ways)
        for (uint64_t seed = 0; seed < effort::rounds(seeds); seed++) {
            int distance = int((seed + unsigned(way)) % unsigned(size));
            size_t sent = blocks, room = blocks;
            if (way == Way::longer)
                sent += 1 + seed % 3;
            else if (seed % 3 == 2) /* it is shorter */
                room += 1 + seed % 2;
            Exchange(comm, way, block, sent, room, distance, seed * 100 + block * blocks).perform();
        }
}

void run_all(weft_comm *comm) {
    run_all(comm, 720, 1, 24);
    run_all(comm, 720, 0, 3);
    run_all(comm, 720, 40, 6);  /* as long as what goes in parts */
    run_all(comm, 7200, 60, 3); /* several parts */
}

} // namespace

TEST(StagedMessages, Threads) {
    job::on_team([](weft_comm *comm) { run_all(comm); });
}

TEST(StagedMessages, Processes) {
    run_all(weft_process_comm());
}
