// SPDX-License-Identifier: BSD-3-Clause
#include "command.h"

#include <algorithm>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

/* A file in memory with this content, read from its start. */
int memory_file(const std::string &content) {
    int fd = memfd_create("weftrun-test", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, content.data(), content.size()) == static_cast<ssize_t>(content.size()))
        lseek(fd, 0, SEEK_SET);
    return fd;
}

std::string content_of(int fd) {
    std::string text;
    char part[4096];
    for (ssize_t bytes; (bytes = pread(fd, part, sizeof(part), static_cast<off_t>(text.size()))) > 0;)
        text.append(part, static_cast<size_t>(bytes));
    return text;
}

template <typename Condition> bool within(int seconds, Condition condition) {
    for (auto limit = Clock::now() + std::chrono::seconds(seconds); Clock::now() < limit; usleep(5000))
        if (condition())
            return true;
    return condition();
}

} // namespace

Weftrun::Weftrun(const std::vector<std::string> &arguments, const std::string &input, const std::vector<int> &ignored) {
    static int number = 0;
    std::string id = std::to_string(getpid()) + "-" + std::to_string(number++);
    char path[] = "/tmp/test-weftrun-XXXXXX";
    marker_ = "WEFTRUN_TEST_MARKER=" + id;
    directory_ = mkdtemp(path) ? path : "";
    int in = memory_file(input);
    out_ = memory_file("");
    err_ = memory_file("");
    fcntl(out_, F_SETFL, O_APPEND); /* several processes write it at once */
    fcntl(err_, F_SETFL, O_APPEND);
    std::string runtime = "XDG_RUNTIME_DIR=" + directory_;
    std::vector<char *> words{const_cast<char *>(WEFTRUN)}, environment;
    for (const std::string &argument : arguments)
        words.push_back(const_cast<char *>(argument.c_str()));
    words.push_back(nullptr);
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "OMP_", 4) != 0 && strncmp(*variable, "XDG_", 4) != 0)
            environment.push_back(*variable);
    environment.push_back(const_cast<char *>(marker_.c_str()));
    environment.push_back(const_cast<char *>(runtime.c_str()));
    environment.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
        dup2(in, 0);
        dup2(out_, 1);
        dup2(err_, 2);
        for (int each : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGCHLD})
            ::signal(each, std::count(ignored.begin(), ignored.end(), each) ? SIG_IGN : SIG_DFL);
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* the test must see only what weftrun itself hands on */
        execve(WEFTRUN, words.data(), environment.data());
        _exit(127);
    }
    close(in);
}

Weftrun::~Weftrun() {
    if (!ended_)
        kill(pid_, SIGKILL);
    for (pid_t pid : processes())
        kill(pid, SIGKILL);
    if (!ended_)
        waitpid(pid_, nullptr, 0);
    close(out_);
    close(err_);
    std::string command = "rm -rf '" + directory_ + "'";
    if (system(command.c_str()) != 0)
        ADD_FAILURE() << "cannot remove " << directory_;
}

int Weftrun::wait() {
    int status = -1;
    ended_ = within(60, [&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
    if (!ended_) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        ended_ = true;
        return -1;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

bool Weftrun::wait_for_output(const std::string &text, int times) {
    return within(60, [&] {
        std::string so_far = out();
        int found = 0;
        for (size_t at = 0; (at = so_far.find(text, at)) != std::string::npos; at += text.size())
            found++;
        return found >= times;
    });
}

void Weftrun::signal(int number) const {
    kill(pid_, number);
}

std::string Weftrun::out() const {
    return content_of(out_);
}

std::string Weftrun::err() const {
    return content_of(err_);
}

std::vector<pid_t> Weftrun::processes() const {
    std::vector<pid_t> found;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc && (entry = readdir(proc));) {
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        std::ifstream file(std::string("/proc/") + entry->d_name + "/environ", std::ios::binary);
        std::stringstream text;
        text << file.rdbuf();
        std::string environment = "";
        environment += '\0' + text.str();
        if (environment.find('\0' + marker_ + '\0') != std::string::npos)
            found.push_back(static_cast<pid_t>(atol(entry->d_name)));
    }
    if (proc)
        closedir(proc);
    return found;
}

pid_t Weftrun::second() const {
    for (pid_t pid : processes())
        if (parent_of(pid) == pid_)
            return pid;
    return -1;
}

bool Weftrun::all_gone() const {
    return within(10, [&] { return processes().empty(); });
}

bool Weftrun::clean() const {
    return rmdir(directory_.c_str()) == 0 && mkdir(directory_.c_str(), 0700) == 0;
}

Result run(const std::vector<std::string> &arguments, const std::string &input) {
    Weftrun job(arguments, input);
    int status = job.wait();
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
    return {status, job.out(), job.err()};
}

std::vector<std::string> script(std::vector<std::string> options, const std::string &text) {
    options.insert(options.end(), {"/bin/sh", "-c", text});
    return options;
}

std::string with_stopped_reader(const std::string &commands) {
    return "pipe=$XDG_RUNTIME_DIR/pipe; mkfifo $pipe && exec 9<>$pipe && rm $pipe; dd if=/dev/zero of=/dev/fd/9 "
           "oflag=nonblock "
           "bs=4096 2>/dev/null; " +
           commands;
}

pid_t parent_of(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string number, name, state;
    pid_t parent = -1;
    file >> number >> name >> state >> parent;
    return parent;
}
