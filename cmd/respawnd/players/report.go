package players

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/respawnd/respawnd/cmd/respawnd/cli"
	"github.com/respawnd/respawnd/internal/games"
	"github.com/respawnd/respawnd/storage"
	"github.com/respawnd/respawnd/web"
)

const reportHelp = `Reports to a server whether a game could be played there, as the form on the page of
the game does. Run it right after you played, in the network of the game: a report counts
if the server has seen your address at the services of the game. No name is sent.`

// reportTimeout bounds the request of a report.
const reportTimeout = 10 * time.Second

func reportCommand(con *cli.Console) *cobra.Command {
	var to, step, copied, remark string
	cmd := cli.Leaf("report GAME --to URL", "Report to a server whether a game could be played there", cobra.ExactArgs(1),
		func(ctx context.Context, args []string) error {
			base, err := url.Parse(to)
			if err != nil || base.Host == "" {
				return cli.Misused(errors.New("--to: must be the address of the server's pages, such as http://play.example.org:8080"))
			}
			ctx, cancel := context.WithTimeout(ctx, reportTimeout)
			defer cancel()
			text, err := sendReport(ctx, base.JoinPath("games", strings.ToLower(args[0]), "report"), url.Values{"step": {step}, "copy": {copied}, "text": {remark}})
			if err != nil {
				return err
			}
			return con.Say("%s", text)
		})
	cmd.Long = reportHelp
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "the address of the server's pages")
	flags.StringVar(&step, "step", storage.Played, "the last step that worked: "+strings.Join(storage.PlaySteps(), ", "))
	flags.StringVar(&copied, "copy", "other", "your copy: "+strings.Join(games.ReportedCopies(), ", "))
	flags.StringVar(&remark, "remark", "", fmt.Sprintf("a remark of up to %d characters", storage.MaxPlayReportText))
	return cmd
}

// sendReport sends the form of a report and returns what became of it.
func sendReport(ctx context.Context, to *url.URL, form url.Values) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	if err := answer.Body.Close(); err != nil {
		return "", err
	}
	location, err := answer.Location()
	if err != nil {
		return "", fmt.Errorf("%s has no page of that game: %s", to.Host, answer.Status)
	}
	text, kept := web.ReportResult(location.Query())
	if !kept {
		return "", errors.New(text)
	}
	return text, nil
}
