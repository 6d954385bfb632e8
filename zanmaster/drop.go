package zanmaster

import "github.com/respawnd/respawnd/internal/uplink"

// dropNames returns the reasons for which packets are dropped, as the metrics show them.
func dropNames() []string {
	return uplink.NamesOf(
		uplink.Empty, uplink.Oversized, uplink.Foreign, uplink.UnknownKind, uplink.Malformed, uplink.Banned, uplink.Blocked,
		uplink.NotAllowed, uplink.Outdated, uplink.Limited, uplink.TooMany, uplink.TooManyPending, uplink.Full, uplink.NoBudget,
		uplink.Wrong, uplink.Unexpected, uplink.TooSoon, uplink.Silenced, uplink.OldListOff, uplink.WrongVersion,
	)
}
