package valvemaster

import "github.com/respawnd/respawnd/internal/uplink"

func dropNames() []string {
	return uplink.NamesOf(
		uplink.Empty, uplink.Oversized, uplink.Foreign, uplink.UnknownKind, uplink.Malformed, uplink.Banned, uplink.Limited,
		uplink.Wrong, uplink.TooMany, uplink.Full, uplink.NeverAsked, uplink.Goodbye, uplink.FilterTooBig, uplink.NoBudget,
		uplink.Busy,
	)
}
