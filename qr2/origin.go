package qr2

import "github.com/respawnd/respawnd/master"

// Origin is that of servers that report by QR2.
var Origin = &master.Origin{
	Name: "qr2", Number: 1, Story: "It reports itself in heartbeats (QR2); its address and its game's key are verified.",
	Query: "gs3", Catalogued: true, Seconds: true,
}

// OldOrigin is that of servers which report in the older text form, QR1.
var OldOrigin = &master.Origin{
	Name: "qr1", Notes: "qr1", Number: 2, Story: "It reports itself in heartbeats of the older text form (QR1), which are verified.",
	Query: "gs1", Catalogued: true, Seconds: true,
}
