# ccr1: written by ichor; /import file-name=config.rsc
/routing/bgp/connection remove [find where comment="ichor tik"]
/routing/bgp/template remove [find where comment="ichor tik"]
/routing/bgp/instance remove [find where comment="ichor tik"]
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
/routing/bgp/instance add name=tik as=65001 router-id=10.9.0.254 vrf=main multipath=64 comment="ichor tik"
/routing/bgp/template add name=tik-NODES afi=ip hold-time=9s keepalive-time=3s use-bfd=yes nexthop-choice=force-self input.filter=tik-nodes-in input.limit-process-routes-ipv4=10000 input.limit-process-routes-ipv6=10000 output.default-originate=always output.filter-chain=tik-permit-all comment="ichor tik"
/routing/bgp/connection add name=tik-a remote.address=10.9.0.1 remote.as=4210009001 templates=tik-NODES local.role=ebgp local.address=10.9.0.254 instance=tik tcp-md5-key="a\2Dsecret\2Dof\2Dthe\2Dfile" comment="ichor tik"
/routing/bgp/connection add name=tik-b remote.address=10.9.0.2 remote.as=4210009002 templates=tik-NODES local.role=ebgp local.address=10.9.0.254 instance=tik tcp-md5-key="a\2Dsecret\2Dof\2Dthe\2Dfile" comment="ichor tik"
/routing/bfd/configuration add addresses=10.9.0.1,10.9.0.2 vrf=main min-rx=300ms min-tx=300ms multiplier=3 comment="ichor tik"
# no session with spine1: RouterOS needs addresses at both ends
