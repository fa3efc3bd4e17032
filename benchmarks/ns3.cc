// A fabric in ns-3: routers and servers joined by point-to-point links, shortest paths, one UDP stream.
// benchmarks/ns3.py builds and runs it.  Input: nodes, links, source, destination, then the links as pairs of
// nodes.  After one second of simulated time the first link of the path fails.  Output: one line of JSON.
#include <iostream>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

int main() {
    uint32_t nodes, links, source, destination;
    std::cin >> nodes >> links >> source >> destination;
    // Routers compute new routes at once when an interface goes down.
    Config::SetDefault("ns3::Ipv4GlobalRouting::RespondToInterfaceEvents", BooleanValue(true));
    NodeContainer all;
    all.Create(nodes);
    InternetStackHelper().Install(all);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    link.SetChannelAttribute("Delay", StringValue("10us"));
    Ipv4AddressHelper network("10.0.0.0", "255.255.255.252");
    Ipv4Address target;
    for (uint32_t i = 0; i < links; ++i) {
        uint32_t a, b;
        std::cin >> a >> b;
        auto ends = network.Assign(link.Install(all.Get(a), all.Get(b)));
        network.NewNetwork();
        if (a == destination) target = ends.GetAddress(0);
        if (b == destination) target = ends.GetAddress(1);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    UdpServerHelper serve(9);
    auto served = serve.Install(all.Get(destination));
    UdpClientHelper send(target, 9);
    send.SetAttribute("Interval", TimeValue(MilliSeconds(1)));
    send.SetAttribute("MaxPackets", UintegerValue(3000));
    send.Install(all.Get(source)).Stop(Seconds(3));
    Simulator::Schedule(Seconds(1), [&] {
        auto ip = all.Get(source)->GetObject<Ipv4>();
        Ipv4Header header;
        header.SetDestination(target);
        Socket::SocketErrno error;
        auto route = ip->GetRoutingProtocol()->RouteOutput(nullptr, header, nullptr, error);
        ip->SetDown(ip->GetInterfaceForDevice(route->GetOutputDevice()));
    });
    Simulator::Stop(Seconds(4));
    Simulator::Run();
    auto server = DynamicCast<UdpServer>(served.Get(0));
    std::cout << "{\"received\": " << server->GetReceived() << ", \"events\": " << Simulator::GetEventCount()
              << ", \"simulated_s\": " << Simulator::Now().GetSeconds() << "}" << std::endl;
    Simulator::Destroy();
}
