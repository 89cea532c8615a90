// SPDX-License-Identifier: BSD-3-Clause
// A bootstrap for processes that share nothing but a directory: the k-th allgather is a file for each rank, which appears under its
// name when it is complete.
#ifndef TESTS_DIRECTORY_BOOTSTRAP_H
#define TESTS_DIRECTORY_BOOTSTRAP_H

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <weft/init.h>

class DirectoryBootstrap {
  public:
    // From TESTS_DIRECTORY, TESTS_RANK and TESTS_SIZE; without the first there is none.
    const weft_bootstrap *get() {
        const char *directory = getenv("TESTS_DIRECTORY"), *rank = getenv("TESTS_RANK"), *size = getenv("TESTS_SIZE");
        if (!directory || !rank || !size)
            return nullptr;
        directory_ = directory;
        bootstrap_ = {atoi(rank), atoi(size), gather, this};
        return &bootstrap_;
    }

  private:
    static constexpr int patience_s = 60;

    std::string file(int rank) const {
        return directory_ + "/" + std::to_string(gathers_) + "." + std::to_string(rank);
    }
    bool read(int rank, char *to, size_t bytes) const {
        std::ifstream in(file(rank), std::ios::binary);
        return in && in.read(to, std::streamsize(bytes));
    }
    bool write(const void *from, size_t bytes) const {
        std::string unfinished = file(bootstrap_.rank) + ".unfinished";
        std::ofstream out(unfinished, std::ios::binary);
        out.write(static_cast<const char *>(from), std::streamsize(bytes));
        out.close();
        return out && rename(unfinished.c_str(), file(bootstrap_.rank).c_str()) == 0;
    }
    static int gather(const void *send, void *recv, size_t bytes, void *context) {
        auto *self = static_cast<DirectoryBootstrap *>(context);
        auto end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_s);
        if (!self->write(send, bytes))
            return -1;
        for (int rank = 0; rank < self->bootstrap_.size; rank++)
            while (!self->read(rank, static_cast<char *>(recv) + size_t(rank) * bytes, bytes)) {
                if (std::chrono::steady_clock::now() > end)
                    return -1;
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            }
        self->gathers_++;
        return 0;
    }
    std::string directory_;
    weft_bootstrap bootstrap_{};
    int gathers_ = 0;
};

#endif
