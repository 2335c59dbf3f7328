# ccr2: written by ichor; /import file-name=config.rsc
/routing/bgp/connection remove [find where comment="ichor tik"]
/routing/bgp/template remove [find where comment="ichor tik"]
/routing/filter/rule remove [find where comment="ichor tik"]
/routing/bfd/configuration remove [find where comment="ichor tik"]
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in 10.9.254.0/24 && dst-len == 32) {accept}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in fd00:9:fe::/64 && dst-len == 128) {accept}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst == 0.0.0.0/0) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst == ::/0) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in 10.9.0.0/24) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in 10.9.254.0/24) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in fd00:9::/64) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="if (dst in fd00:9:fe::/64) {reject}" comment="ichor tik"
/routing/filter/rule add chain=tik-nodes-in rule="reject" comment="ichor tik"
/routing/filter/rule add chain=tik-permit-all rule="accept" comment="ichor tik"
/routing/bgp/template add name=tik-NODES address-families=ipv6 hold-time=9s keepalive-time=3s as=65002 router-id=10.255.255.2 use-bfd=no nexthop-choice=force-self input.filter=tik-nodes-in input.limit-process-routes-ipv4=10000 input.limit-process-routes-ipv6=10000 output.default-originate=always output.filter-chain=tik-permit-all comment="ichor tik"
/routing/bgp/connection add name=tik-NODES remote.address=fd00:9::/64 connect=no listen=yes templates=tik-NODES local.role=ebgp vrf=nodes routing-table=nodes comment="ichor tik"
