// The event loop of Boost.Asio serves a socket and collectives in one thread: a client asks this rank every millisecond
// for the number of sums that all ranks have found so far.
#include <weft/weft.hpp>

#include <boost/asio.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <span>

namespace {

namespace asio = boost::asio;
using Socket = asio::local::stream_protocol::socket;
using asio::posix::stream_descriptor;

constexpr std::uint64_t sums = 1000;

// One sum after the other: whenever one is there, the next one starts.
class Sums {
  public:
    Sums(asio::io_context& loop, const weft::Communicator& world)
        : world_(world), completions_(loop, queue_.descriptor()) {
        start();
        wait();
    }
    // The descriptor is the queue's, which closes it.
    ~Sums() { completions_.release(); }

    std::uint64_t found() const { return found_; }

  private:
    void start() {
        value_ = static_cast<double>(found_);
        request_ = world_.iallreduce(weft::in_place, std::span(&value_, 1), weft::sum);
        queue_.notify(request_, found_);
    }
    void wait() {
        completions_.async_wait(stream_descriptor::wait_read, [this](auto error) {
            if (error) return;
            while (found_ < sums && queue_.next()) {
                request_.wait();  // returns at once
                if (++found_ < sums) start();
            }
            if (found_ < sums) wait();
        });
    }

    const weft::Communicator& world_;
    weft::CompletionQueue queue_;
    stream_descriptor completions_;
    weft::Request request_;
    double value_ = 0;
    std::uint64_t found_ = 0;
};

// Answers each byte with the number of sums.
class Server {
  public:
    Server(Socket& socket, const Sums& of) : socket_(socket), sums_(of) { serve(); }

  private:
    void serve() {
        asio::async_read(socket_, asio::buffer(&question_, 1), [this](auto error, std::size_t) {
            if (error) return;  // the client has gone
            answer_ = sums_.found();
            asio::async_write(socket_, asio::buffer(&answer_, sizeof answer_),
                              [this](auto failed, std::size_t) {
                                  if (!failed) serve();
                              });
        });
    }

    Socket& socket_;
    const Sums& sums_;
    char question_ = 0;
    std::uint64_t answer_ = 0;
};

// Asks until it hears that all sums are there.
class Client {
  public:
    Client(asio::io_context& loop, Socket& socket) : socket_(socket), timer_(loop) { ask(); }

    std::uint64_t answers() const { return answers_; }

  private:
    void ask() {
        asio::async_write(socket_, asio::buffer("?", 1), [this](auto failed, std::size_t) {
            if (failed) return;
            asio::async_read(socket_, asio::buffer(&answer_, sizeof answer_),
                             [this](auto error, std::size_t) {
                                 if (error) return;
                                 ++answers_;
                                 if (answer_ == sums) return socket_.close();
                                 timer_.expires_after(std::chrono::milliseconds(1));
                                 timer_.async_wait([this](auto) { ask(); });
                             });
        });
    }

    Socket& socket_;
    asio::steady_timer timer_;
    std::uint64_t answer_ = 0;
    std::uint64_t answers_ = 0;
};

}  // namespace

int main() try {
    const weft::Environment environment;
    const weft::Communicator world = weft::Communicator::world();
    asio::io_context loop;
    Socket here(loop);
    Socket there(loop);
    asio::local::connect_pair(here, there);
    Sums all(loop, world);
    Server server(here, all);
    Client client(loop, there);
    loop.run();
    std::printf("rank %d: %llu sums, %llu answers\n", world.rank(),
                static_cast<unsigned long long>(all.found()),
                static_cast<unsigned long long>(client.answers()));
    return all.found() == sums && client.answers() > 0 ? 0 : 1;
} catch (const std::exception& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
}
