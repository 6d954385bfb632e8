package nettest

import "fmt"

// HomeAddr is the address of a player in the network of a Household.
const HomeAddr = "192.168.1.5"

// wall drops unsolicited packets, as routers do. Without it the kernel remembers a
// packet that came too early, and gives the answer to it another port.
const wall = `
	chain wall { type filter hook input priority 0; iifname "ext" ct state new drop; }`

// Rules of nft for the router of a Household. A masquerade keeps the port where it
// can, which makes it port restricted; without a wall it takes another one for a partner whose
// packet came too early. The restricted one has no wall either, and keeps out such a partner for
// good.
const (
	PortRestrictedRouter = wall + `
	chain out { type nat hook postrouting priority 100; oifname "ext" masquerade; }`
	WallessRouter = `
	chain out { type nat hook postrouting priority 100; oifname "ext" masquerade; }`
	RestrictedRouter = `
	set written { type ipv4_addr; flags dynamic,timeout; timeout 60s; }
	chain note { type filter hook forward priority 0; oifname "ext" update @written { ip daddr }; }
	chain out { type nat hook postrouting priority 100; oifname "ext" masquerade; }
	chain back { type nat hook prerouting priority -100; iifname "ext" ip saddr @written dnat to ` + HomeAddr + `; }`
	SymmetricRouter = wall + `
	chain out { type nat hook postrouting priority 100; oifname "ext" masquerade fully-random; }`
	FullConeRouter = `
	chain out { type nat hook postrouting priority 100; oifname "ext" masquerade; }
	chain back { type nat hook prerouting priority -100; iifname "ext" dnat to ` + HomeAddr + `; }`
)

// OpenHome adds household number i, 0 to 63: a player without a router, who is linked to the
// namespace server and has the address 203.0.113.(4i+2). It returns the player's namespace and
// address.
func (w *World) OpenHome(server string, i int) (home, address string) {
	w.t.Helper()
	home = fmt.Sprint("home", i)
	up, address := fmt.Sprintf("203.0.113.%d", 4*i+1), fmt.Sprintf("203.0.113.%d", 4*i+2)
	w.Add(home)
	w.Link(server, fmt.Sprint("down", i), home, "eth")
	w.Address(server, fmt.Sprint("down", i), up+"/30")
	w.Address(home, "eth", address+"/30")
	w.In(home, "ip", "route", "add", "default", "via", up)
	return home, address
}

// Household adds household number i, 0 to 63: a player at HomeAddr behind a router with
// the given rules, which is linked to the namespace server and has the address
// 203.0.113.(4i+2). It returns the player's namespace. It needs the programs nft and
// sysctl.
func (w *World) Household(server string, i int, rules string) (home string) {
	w.t.Helper()
	router, home := fmt.Sprint("nat", i), fmt.Sprint("home", i)
	w.Add(router)
	w.Add(home)
	up, out := fmt.Sprintf("203.0.113.%d", 4*i+1), fmt.Sprintf("203.0.113.%d", 4*i+2)
	w.Link(server, fmt.Sprint("down", i), router, "ext")
	w.Link(router, "int", home, "eth")
	w.Address(server, fmt.Sprint("down", i), up+"/30")
	w.Address(router, "ext", out+"/30")
	w.Address(router, "int", "192.168.1.1/24")
	w.Address(home, "eth", HomeAddr+"/24")
	w.In(router, "ip", "route", "add", "default", "via", up)
	w.In(home, "ip", "route", "add", "default", "via", "192.168.1.1")
	w.In(router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	w.In(router, "nft", "table ip world {\n"+rules+"\n}")
	return home
}
