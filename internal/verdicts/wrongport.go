package verdicts

import "fmt"

// homes are the services that take what servers send to the wrong port, by the
// verdict on that. q3master is named here although no version has it yet: what is
// not open has no port.
var homes = map[Verdict]string{
	SpeaksQR2:       "qr2",
	SpeaksQR1:       "qr2",
	SpeaksZandronum: "zanmaster",
	SpeaksValve:     "valvemaster",
	SpeaksQuake3:    "q3master",
}

// SetPorts says at which ports the services of this daemon are open, by their
// names. Verdicts noted from then on name the port that a server should report to.
func (l *Log) SetPorts(ports map[string]uint16) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ports = ports
}

// packetReasons returns the words for packets that a service dropped. port is
// where this daemon takes them; 0: nowhere.
func packetReasons(v Verdict, port uint16) (x Explanation) {
	x.What = "packet"
	switch v {
	case SpeaksQR2:
		x.Cause = "the server's packets arrive, but this port does not take them: they are heartbeats of GameSpy's protocol (QR2)"
	case SpeaksQR1:
		x.Cause = "the server's packets arrive, but this port does not take them: they are heartbeats of GameSpy's older protocol (QR1)"
	case SpeaksZandronum:
		x.Cause = "the server's packets arrive, but this port does not take them: they are announcements of Zandronum's protocol"
	case SpeaksValve:
		x.Cause = "the server's packets arrive, but this port does not take them: they are of the protocol of Valve's master"
	case SpeaksQuake3:
		x.Cause = "the server's packets arrive, but this port does not take them: they are heartbeats of Quake III's protocol"
	case SpeaksCDKey:
		x.Cause = "a check of CD keys came to this port, which does not take them"
		x.Advice = "Nothing is wrong with the list: a server that is missing from it sends no heartbeats here. Look at its master address and port."
		return x
	case TooLong:
		x.Cause = "the server's packets arrive, but are longer than any report that is taken, and are dropped"
		x.Advice = "Shorten long names, rules and message-of-the-day texts of the server, and check that its master port is right."
		return x
	case KeepaliveAlone:
		x.Cause = "a sign of life came from a server that is not in the list; only a heartbeat lists it"
		x.Advice = "Wait a minute: the next heartbeat lists it. If none comes, start the server again."
		return x
	case NotUnderstood:
		x.Cause = "packets arrive, but are of no protocol that is known here, or are cut off"
		x.Advice = "Check that the server's master address and port are right, and that nothing else on its machine sends here."
		return x
	default:
		return Explanation{}
	}
	if port == 0 {
		x.Advice = "No service of this daemon that speaks it is open. Give the server a master of its own protocol, or ask the operator whether this one can be opened here."
	} else {
		x.Advice = fmt.Sprintf("Use port %d: that is where this master takes them.", port)
	}
	return x
}
