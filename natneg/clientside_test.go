package natneg

// ParseReportAck reads the body. ok is false if it is too short.
func ParseReportAck(body []byte) (a ReportAck, ok bool) {
	if len(body) < len(a) {
		return a, false
	}
	return ReportAck(body), true
}
