// The packets of messages on a fat tree of two levels, simulated by ns-3 (Debian: libns3-dev).
//
// packets HOSTS LEAVES UPLINKS RATE DELAY PAYLOAD <messages
//
// HOSTS at each of the leaf switches, UPLINKS from each leaf switch, one to each top switch. RATE
// is that of a link in bit/s with headers, DELAY of a link in ns, PAYLOAD of a packet in bytes.
// Reads a line for each message: its start in ns, sender, receiver, whole packets. Prints when the
// last packet of each was received, in ns, in the order of the lines. Routes go up by uplink
// receiver mod UPLINKS. Queues have no limit; a packet is a UDP datagram, and there is no
// congestion control.
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace ns3;

namespace {

constexpr uint16_t kPort = 9;

struct Message {
  double start_ns = 0;
  uint32_t from = 0;
  uint32_t to = 0;
  uint32_t packets = 0;
  uint32_t missing = 0;
  double end_ns = 0;
};

std::vector<Message> messages;
std::vector<Ptr<Socket>> sockets;    // of each host
std::vector<Ipv4Address> addresses;  // of each host
uint32_t payload = 0;

void send(uint32_t number) {
  Message& message = messages[number];
  std::vector<uint8_t> data(payload);
  for (size_t i = 0; i < sizeof number; ++i) data[i] = static_cast<uint8_t>(number >> 8 * i);
  const InetSocketAddress to(addresses[message.to], kPort);
  for (uint32_t i = 0; i < message.packets; ++i) {
    const int sent = sockets[message.from]->SendTo(Create<Packet>(data.data(), payload), 0, to);
    NS_ABORT_MSG_IF(sent != static_cast<int>(payload), "a packet was refused");
  }
}

void receive(Ptr<Socket> socket) {
  while (Ptr<Packet> packet = socket->Recv()) {
    uint8_t bytes[4];
    packet->CopyData(bytes, sizeof bytes);
    uint32_t number = 0;
    for (size_t i = 0; i < sizeof bytes; ++i) number |= uint32_t{bytes[i]} << 8 * i;
    Message& message = messages[number];
    if (--message.missing == 0) message.end_ns = Simulator::Now().GetDouble() / 1e6;
  }
}

// Cables of the tree and static routes to every host.
class Tree {
 public:
  Tree(uint32_t hosts, uint32_t leaves, uint32_t uplinks, uint64_t rate, double delay_ns)
      : hosts_(hosts), leaves_(leaves), uplinks_(uplinks) {
    link_.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    link_.SetDeviceAttribute("Mtu", UintegerValue(payload + 28));
    link_.SetChannelAttribute("Delay", TimeValue(NanoSeconds(static_cast<uint64_t>(delay_ns))));
    link_.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100000000p"));
    nodes_.Create(hosts * leaves + leaves + uplinks);
    InternetStackHelper internet;
    Ipv4StaticRoutingHelper routing;
    internet.SetRoutingHelper(routing);
    internet.Install(nodes_);
    network_.SetBase("10.0.0.0", "255.255.255.252");
    for (uint32_t host = 0; host < hosts * leaves; ++host) {
      const Ends ends = connect(host, leaf(host / hosts));
      addresses.push_back(ends.address);
      table(host)->AddNetworkRouteTo("0.0.0.0", "0.0.0.0", ends.low);
      host_ports_.push_back(ends.high);
    }
    for (uint32_t from = 0; from < leaves; ++from) {
      for (uint32_t port = 0; port < uplinks; ++port) {
        const Ends ends = connect(leaf(from), hosts * leaves + leaves + port);
        route(from, port, ends);
      }
    }
    for (uint32_t host = 0; host < hosts * leaves; ++host) {
      table(leaf(host / hosts))->AddHostRouteTo(addresses[host], host_ports_[host]);
    }
  }
  Ptr<Node> node(uint32_t number) const { return nodes_.Get(number); }

 private:
  struct Ends {
    uint32_t low, high;   // interfaces
    Ipv4Address address;  // of the lower one
  };

  uint32_t leaf(uint32_t number) const { return hosts_ * leaves_ + number; }
  Ptr<Ipv4StaticRouting> table(uint32_t number) const {
    return Ipv4StaticRoutingHelper().GetStaticRouting(nodes_.Get(number)->GetObject<Ipv4>());
  }
  Ends connect(uint32_t low, uint32_t high) {
    const NetDeviceContainer devices = link_.Install(nodes_.Get(low), nodes_.Get(high));
    const Ipv4InterfaceContainer interfaces = network_.Assign(devices);
    TrafficControlHelper().Uninstall(devices);  // packets wait in the devices alone
    network_.NewNetwork();
    return {interfaces.Get(0).second, interfaces.Get(1).second, interfaces.GetAddress(0)};
  }
  // Up for hosts elsewhere that this uplink is for, down for those below the leaf.
  void route(uint32_t from, uint32_t port, const Ends& ends) {
    for (uint32_t host = 0; host < hosts_ * leaves_; ++host) {
      const bool is_below = host / hosts_ == from;
      if (is_below) {
        table(hosts_ * leaves_ + leaves_ + port)->AddHostRouteTo(addresses[host], ends.high);
      } else if (host % uplinks_ == port) {
        table(leaf(from))->AddHostRouteTo(addresses[host], ends.low);
      }
    }
  }

  uint32_t hosts_, leaves_, uplinks_;
  PointToPointHelper link_;
  NodeContainer nodes_;
  Ipv4AddressHelper network_;
  std::vector<uint32_t> host_ports_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 7) return 2;
  Time::SetResolution(Time::FS);
  const auto number = [&](int i) {
    return static_cast<uint32_t>(std::strtoul(words[i], nullptr, 10));
  };
  const uint32_t hosts = number(1) * number(2);
  payload = number(6);
  const Tree tree(number(1), number(2), number(3), std::strtoull(words[4], nullptr, 10),
                  std::strtod(words[5], nullptr));
  for (uint32_t host = 0; host < hosts; ++host) {
    sockets.push_back(Socket::CreateSocket(tree.node(host), UdpSocketFactory::GetTypeId()));
    sockets.back()->Bind(InetSocketAddress(Ipv4Address::GetAny(), kPort));
    sockets.back()->SetAttribute("RcvBufSize", UintegerValue(UINT32_MAX));
    sockets.back()->SetRecvCallback(MakeCallback(&receive));
  }
  Message read;
  while (std::scanf("%lf %u %u %u", &read.start_ns, &read.from, &read.to, &read.packets) == 4) {
    read.missing = read.packets;
    Simulator::Schedule(FemtoSeconds(static_cast<uint64_t>(read.start_ns * 1e6)), &send,
                        static_cast<uint32_t>(messages.size()));
    messages.push_back(read);
  }
  Simulator::Run();
  for (const Message& message : messages) std::printf("%.3f\n", message.end_ns);
  Simulator::Destroy();
  return 0;
}
