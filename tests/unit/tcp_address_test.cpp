// Where ranks are reached: addresses as text, the interfaces that WEFT_INTERFACES names, and cards.
#include "tcp/address.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "support/limits.h"
#include "support/test.h"
#include "transport/tcp/card.h"

namespace weft::tcp::tcp_address_test {

bool has_ipv6() {
    const Fd socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in6 any{.sin6_family = AF_INET6,
                           .sin6_port = 0,
                           .sin6_flowinfo = 0,
                           .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                           .sin6_scope_id = 0};
    return socket && bind(socket.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any) == 0;
}

TEST(Address, TravelsAsText) {
    for (const char* text : {"10.0.0.1:7000", "127.0.0.1:1", "[::1]:65535", "[fd00::1:2]:7001"}) {
        const std::optional<Address> address = Address::parse(text);
        ASSERT_TRUE(address.has_value()) << text;
        EXPECT_EQ(address->text(), text);
        EXPECT_EQ(address->family(), text[0] == '[' ? AF_INET6 : AF_INET);
    }
    EXPECT_EQ(Address::parse("10.0.0.1:7000")->port(), 7000);
}

TEST(Address, IsNothingElse) {
    for (const char* text :
         {"", ":", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:65536", "10.0.0.1:-1",
          "10.0.0.1:80 ", "10.0.0.1: 80", "10.0.0:80", "10.0.0.256:80", "node1:80", "[::1]",
          "[::1]:", "[::g]:80", "[]:80", ":80", "10.0.0.1:80x"}) {
        EXPECT_FALSE(Address::parse(text).has_value()) << text;
    }
}

std::string texts_of(const std::vector<Address>& addresses) {
    std::string text;
    for (const Address& address : addresses) text += address.text() + " ";
    return text;
}

std::string texts_of(const std::string& interfaces) {
    Result<std::vector<Address>> addresses = addresses_of_interfaces(interfaces);
    if (!addresses.is_ok()) return last_detail();
    return texts_of(*addresses);
}

TEST(Interfaces, AreNamedOrGivenByAddress) {
    EXPECT_EQ(texts_of("127.0.0.1"), "127.0.0.1:0 ");
    EXPECT_EQ(texts_of("::1"), "[::1]:0 ");
    EXPECT_EQ(texts_of("lo"), "127.0.0.1:0 ");
    EXPECT_EQ(texts_of("lo,127.0.0.1"), "127.0.0.1:0 127.0.0.1:0 ");
    if (has_ipv6()) {
        EXPECT_EQ(texts_of("lo:6"), "[::1]:0 ");
        EXPECT_EQ(texts_of("lo,lo:6"), "127.0.0.1:0 [::1]:0 ");
    }
}

TEST(Interfaces, AreChosenWhenNoneIsNamed) {
    Result<std::vector<Address>> addresses = addresses_of_interfaces("");
    ASSERT_TRUE(addresses.is_ok()) << last_detail();
    EXPECT_EQ(addresses->size(), 1u);
    EXPECT_EQ(addresses->front().port(), 0);
}

// What the library sees in a network of its own, which the commands prepare. "not permitted": there can be none.
template <class See>
std::string seen_after(const std::string& commands, See see) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        std::string text = "not permitted";
        if (unshare(CLONE_NEWNET) == 0 &&
            std::system(("PATH=$PATH:/sbin:/usr/sbin; ip link set lo up && " + commands).c_str()) ==
                0)
            text = see();
        _exit(write(ends[1], text.data(), text.size()) < 0);
    }
    close(ends[1]);
    char text[256] = "";
    EXPECT_GT(read(ends[0], text, sizeof text - 1), 0);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return text;
}

// The first address of those that a rank listens at.
std::string choice() { return texts_of(""); }

const std::string one_pair =
    "ip link add v0 type veth peer name v1 && ip address add 10.9.9.1/24 dev v0 && ip link set v0 "
    "up";

// An interface that is up but does not run, as for a moment after it is made.
TEST(Interfaces, ThatDoNotRunYetAreChosenBeforeTheLoopbackOne) {
    const std::string chosen = seen_after(one_pair, choice);
    if (chosen == "not permitted")
        GTEST_SKIP() << "this process may not make a network of its own, or there is no ip";
    EXPECT_EQ(chosen, "10.9.9.1:0 ");
}

// A bridge as containers have it, and the older interface of two.
const std::string bridge_and_pair =
    "ip link add br9 type bridge && ip address add 10.8.8.1/24 dev br9 && "
    "ip link add b0 type veth peer name b1 && ip link set b0 master br9 && ip link set b0 up && "
    "ip link set b1 up && ip link set br9 up && " +
    one_pair + " && ip link set v1 up";
// (A new interface runs shortly after it is up.)
std::string when_it_runs(const std::string& interface) {
    return " && for i in $(seq 200); do ip -o link show " + interface +
           " | grep -q 'state UP' && exit; sleep 0.02; done; exit 1";
}

TEST(Interfaces, ThatAreBridgesAreChosenLast) {
    const std::string chosen = seen_after(bridge_and_pair + when_it_runs("v0"), choice);
    if (chosen == "not permitted")
        GTEST_SKIP() << "this process may not make a network of its own, or there is no ip";
    EXPECT_EQ(chosen, "10.9.9.1:0 ");
}

TEST(Interfaces, ThatLeadToOthersAreOfferedBesidesTheFirst) {
    const std::string others = seen_after(
        bridge_and_pair +
            " && ip link add w0 type veth peer name w1 && ip address add 10.7.7.1/24 dev w0 && "
            "ip link set w1 up && ip link set w0 up" +
            when_it_runs("w0"),
        [] { return texts_of(addresses_besides(*Address::parse_host("10.9.9.1"), 4)); });
    if (others == "not permitted")
        GTEST_SKIP() << "this process may not make a network of its own, or there is no ip";
    EXPECT_EQ(others, "10.7.7.1:0 ") << "and neither the first one again nor the bridge";
}

TEST(Interfaces, OfBothFamiliesAreOfferedByBoth) {
    for (const auto& [first, other] :
         {std::pair("10.9.9.1", "[fd09::1]:0 "), std::pair("fd09::1", "10.9.9.1:0 ")}) {
        const std::string others = seen_after(
            one_pair + " && ip link set v1 up && ip address add fd09::1/64 dev v0 nodad" +
                when_it_runs("v0"),
            [first] { return texts_of(addresses_besides(*Address::parse_host(first), 4)); });
        if (others == "not permitted")
            GTEST_SKIP() << "this process may not make a network of its own, or there is no ip";
        EXPECT_EQ(others, other);
    }
}

TEST(Interfaces, ThatAreNotThereAreRefusedByName) {
    for (const char* name : {"weft-none", "lo,weft-none", "lo0x", "127.0.0.1.1", "10.0.0.1:80"}) {
        Result<std::vector<Address>> addresses = addresses_of_interfaces(name);
        ASSERT_FALSE(addresses.is_ok()) << name;
        EXPECT_EQ(addresses.status().code, WEFT_REFUSED_SETTING);
    }
    EXPECT_EQ(
        texts_of("lo,weft-none"),
        "WEFT_INTERFACES names 'weft-none'; this machine has no such interface that is up and "
        "has an address");
    EXPECT_EQ(texts_of("weft-none:6"),
              "WEFT_INTERFACES names 'weft-none:6'; this machine has no such interface that is up "
              "and has an IPv6 address");
    EXPECT_EQ(texts_of("lo,,lo"),
              "WEFT_INTERFACES names ''; this machine has no such interface that is up and has an "
              "address");
}

TEST(Interfaces, AreNotBlamedForAWantOfDescriptors) {
    const test::DescriptorLimit none(0);
    const std::string named = texts_of("lo");
    const std::string first = texts_of("");
    EXPECT_EQ(named, "no descriptor to list network interfaces: Too many open files");
    EXPECT_EQ(first, named);
}

TEST(TcpCard, TravelsAsText) {
    for (const char* text : {"weft-tcp-1/10.0.0.1:4000", "weft-tcp-1/10.0.0.1:4000,[fd00::1]:4001",
                             "weft-tcp-1/10.0.0.1:4000;10.1.0.1:4001;[fd00::1]:4002"}) {
        const std::optional<Card> card = Card::parse(text);
        ASSERT_TRUE(card.has_value()) << text;
        EXPECT_EQ(card->text(), text);
    }
}

TEST(TcpCard, IsNothingElse) {
    for (const char* text :
         {"", "weft-tcp-1/", "weft-tcp-2/10.0.0.1:4000", "10.0.0.1:4000", "weft-tcp-1/10.0.0.1",
          "weft-tcp-1/10.0.0.1:4000,,10.0.0.2:4000", "weft-tcp-1/10.0.0.1:4000;10.0.0.2",
          "weft-tcp-1/10.0.0.1:4000;", "weft-tcp-1/;10.0.0.1:4000",
          "weft-tcp-1/10.0.0.1:4000,10.0.0.2:4000;10.0.0.3:4000"}) {
        EXPECT_FALSE(Card::parse(text).has_value()) << text;
    }
}

}  // namespace weft::tcp::tcp_address_test
