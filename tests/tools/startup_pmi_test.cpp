// How a rank speaks PMI with its launcher, where that does not answer as it should; tests/mpi has real
// launchers.
#include <fcntl.h>
#include <sys/socket.h>

#include "startup/startup.h"
#include "support/process.h"
#include "support/test.h"

namespace weft::test::startup_pmi_test {

class StartupPmi : public ::testing::Test {
  protected:
    void SetUp() override {
        clear();
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets_), 0);
        setenv("PMI_RANK", "1", 1);
        setenv("PMI_SIZE", "2", 1);
        setenv("PMI_FD", std::to_string(sockets_[1]).c_str(), 1);
    }
    void TearDown() override {
        clear();
        for (int socket : sockets_) close(socket);
    }
    static void clear() {
        for (const char* name : {"WEFT_RANK", "WEFT_RANKS", "WEFT_STARTUP_FD", "WEFT_STARTUP",
                                 "WEFT_STARTUP_DIR", "WEFT_STARTUP_TIMEOUT", "PMI_RANK", "PMI_SIZE",
                                 "PMI_FD", "PMI_PORT", "PMIX_NAMESPACE", "PMIX_RANK"}) {
            unsetenv(name);
        }
    }

    // The sentence of an exchange of which the launcher answers each command by what `answers` has for
    // its verb; it hangs up when there is nothing. "": it went well.
    std::string exchange(std::map<std::string, std::string> answers) {
        auto startup = startup_from_environment();
        if (!startup.is_ok()) return last_detail();
        std::thread launcher([&, this] {
            std::string heard;
            for (char c; recv(sockets_[0], &c, 1, 0) == 1;) {
                heard += c;
                if (c != '\n') continue;
                const std::string verb = heard.substr(4, heard.find_first_of(" \n") - 4);
                heard.clear();
                if (!answers.contains(verb)) break;
                const std::string& answer = answers[verb];
                if (send(sockets_[0], answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
            }
            shutdown(sockets_[0], SHUT_RDWR);
        });
        auto cards = (*startup)->exchange("a card");
        const std::string said = cards.is_ok() ? "" : last_detail();
        shutdown(sockets_[1], SHUT_RDWR);
        launcher.join();
        return said;
    }

    // The answers of a correct launcher whose rank 0 has put the key and the card "A".
    static std::map<std::string, std::string> good() {
        return {{"init", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
                {"get_my_kvsname", "cmd=my_kvsname kvsname=space\n"},
                {"put", "cmd=put_result rc=0 msg=success\n"},
                {"barrier_in", "cmd=barrier_out\n"},
                {"get",
                 "cmd=get_result rc=0 msg=success value=00000040" + std::string(64, '7') + "\n"}};
    }

    int sockets_[2] = {-1, -1};  // the launcher's end and the rank's
};

TEST_F(StartupPmi, GetsWhatTheOthersHavePut) {
    auto startup = startup_from_environment();
    ASSERT_TRUE(startup.is_ok());
    EXPECT_EQ((*startup)->rank(), 1);
    EXPECT_EQ((*startup)->ranks(), 2);
    EXPECT_EQ(exchange(good()), "");
}

// A program that the rank starts is none.
TEST_F(StartupPmi, KeepsItsSocketFromOtherPrograms) {
    ASSERT_TRUE(startup_from_environment().is_ok());
    EXPECT_NE(fcntl(sockets_[1], F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(StartupPmi, RefusesAnotherProtocol) {
    auto answers = good();
    answers["init"] = "cmd=response_to_init pmi_version=2 rc=-1\n";
    EXPECT_TRUE(contains(exchange(answers), "answered 'cmd=init' on PMI_FD by"));
}

TEST_F(StartupPmi, RefusesWhatFails) {
    for (const char* verb : {"put", "barrier_in", "get", "get_my_kvsname"}) {
        auto answers = good();
        answers[verb] = "cmd=failed rc=1\n";
        EXPECT_TRUE(contains(exchange(answers), "'cmd=failed rc=1'")) << verb;
        TearDown();
        SetUp();
    }
}

TEST_F(StartupPmi, TellsOfALauncherThatHangsUp) {
    for (const char* verb : {"init", "put", "barrier_in", "get"}) {
        auto answers = good();
        answers.erase(verb);
        EXPECT_TRUE(contains(exchange(answers), "hung up before all ranks had started")) << verb;
        TearDown();
        SetUp();
    }
}

TEST_F(StartupPmi, WaitsSoLongForTheOthers) {
    setenv("WEFT_STARTUP_TIMEOUT", "0.2", 1);
    auto answers = good();
    answers["barrier_in"] = "";
    EXPECT_TRUE(contains(exchange(answers), "not all ranks had started after 0.2 s"));
}

// Too short, too long, no digits, no value.
TEST_F(StartupPmi, RefusesValuesThatAreNotWefts) {
    for (const char* value : {"value=0000000410",
                              "value=000000ff"
                              "12",
                              "value=00000040zz", "value=", "value=ffffffff00", "",
                              "value=0000002200112233445566778899aabbccddee"
                              "ff00"}) {
        auto answers = good();
        answers["get"] = std::string("cmd=get_result rc=0 ") + value + "\n";
        const std::string said = exchange(answers);
        EXPECT_TRUE(said.find("is not one that Weft has put there") != std::string::npos ||
                    said.find("rank 0 gave a key of 17 bytes") != std::string::npos)
            << value << ": " << said;
        TearDown();
        SetUp();
    }
}

TEST_F(StartupPmi, RefusesAnEnvironmentThatCannotBe) {
    setenv("PMI_RANK", "2", 1);
    EXPECT_TRUE(contains(exchange({}), "PMI_RANK = '2'; expected"));
    setenv("PMI_RANK", "1", 1);
    setenv("PMI_FD", "987654", 1);
    EXPECT_TRUE(contains(exchange({}), "PMI_FD = '987654' is not the launcher's socket"));
    unsetenv("PMI_FD");
    setenv("PMI_PORT", "host:1234", 1);
    EXPECT_TRUE(contains(exchange({}), "PMI_FD is not set"));
    unsetenv("PMI_SIZE");
    EXPECT_TRUE(contains(exchange({}), "PMI_SIZE is not set"));
}

TEST_F(StartupPmi, IsNotAskedWhereWeftsOwnVariablesAreSet) {
    setenv("WEFT_RANK", "0", 1);
    EXPECT_TRUE(contains(exchange(good()), "WEFT_RANKS is not set"));
}

}  // namespace weft::test::startup_pmi_test
