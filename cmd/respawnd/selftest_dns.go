package main

import (
	"context"
	"fmt"
	"time"

	"github.com/miekg/dns"

	"github.com/respawnd/respawnd/internal/games"
)

// resolve asks for the name of a service as a game does, over UDP and TCP.
func (t *selfTest) resolve(ctx context.Context) error {
	names, err := games.HostNames(testGame, t.cfg.Games.Domains[0])
	if err != nil {
		return err
	}
	question := new(dns.Msg).SetQuestion(dns.Fqdn(names[0].Name), dns.TypeA)
	for _, network := range []string{"udp4", "tcp4"} {
		ctx, cancel := context.WithTimeout(ctx, stepTimeout)
		client := dns.Client{Net: network, Timeout: stepTimeout - time.Millisecond}
		answer, _, err := client.ExchangeContext(ctx, question, dialable(t.cfg.DNS.Listen))
		cancel()
		switch {
		case err != nil:
			return err
		case answer.Rcode != dns.RcodeSuccess:
			return fmt.Errorf("%s: %s", names[0].Name, dns.RcodeToString[answer.Rcode])
		case len(answer.Answer) == 0:
			return fmt.Errorf("%s: no address", names[0].Name)
		}
	}
	return nil
}
