#!/usr/bin/env bash
# invoice.sh ORDER TOTAL CURRENCY CUSTOMER: one order becomes one invoice, with curl and jq alone.
# Exit 0: it is there, and its number is printed; 75: run it again later; 76: a person decides; 77: refused.
set -euo pipefail
: "${TIEOUT_URL:?}" "${TIEOUT_TOKEN:?}" "${BOOKS_URL:?}"
key="order/stall/$1/v1" # the order's own name; nothing of this run is in it
payload=$(jq -n --arg order "$1" --arg total "$2" --arg currency "$3" --arg customer "$4" --arg key "$key" \
    '{$order, $total, $currency, customer: {name: $customer}, metadata: {operation: $key}}')
id() { cat /proc/sys/kernel/random/uuid; }

# tieout PATH BODY: ask, up to five times in the same words; sets answer and status. The token stands in no argument.
tieout() {
    local try got
    for try in 1 2 3 4 5; do
        got=$(curl -sS --max-time 10 -w '\n%{http_code}' "$TIEOUT_URL/api/v1/$1" --data-binary "$2" \
            -H 'Content-Type: application/json' -H @<(printf 'Authorization: Bearer %s' "$TIEOUT_TOKEN")) || got=$'\n000'
        answer=${got%$'\n'*} status=${got##*$'\n'}
        case $status in 000 | 408 | 425 | 429 | 5??) sleep "$try" ;; *) return ;; esac
    done
    echo "Tieout cannot be asked now: $status $answer" >&2
    exit 75
}

# stop: what is known, and what to do.
stop() {
    case $(jq -r '.decision // "none"' <<<"$answer") in
    skip) jq -r '.operation.destination_reference' <<<"$answer" && exit 0 ;;
    wait | proceed) exit 75 ;;
    hold) jq -r '"\(.detail // "A person decides.") \(.case)"' <<<"$answer" >&2 && exit 76 ;;
    *) jq -r '.detail' <<<"$answer" >&2 && exit 77 ;;
    esac
}

tieout operations/claim "$(jq -n --arg key "$key" --argjson payload "$payload" --arg attempt_id "$(id)" \
    '{type: "invoice.issue", $key, $payload, amount: $payload.total, currency: $payload.currency, $attempt_id,
      description: "Order \($payload.order)", subject: $payload.customer.name}')"
[ "$status" = 201 ] || [ "$status" = 200 ] && [ "$(jq -r .decision <<<"$answer")" = proceed ] || stop
read -r attempt token send_key < <(jq -r '.attempt | "\(.id) \(.token) \(.idempotency_key)"' <<<"$answer")
tieout "attempts/$attempt/start" "$(jq -n --arg token "$token" --arg start_id "$(id)" '{$token, $start_id}')"
[ "$status" = 200 ] || stop

# Only now a byte goes to Durban Books, once: no --retry, no --location.
said=uncertain number='' failed=0
made=$(curl -sS --max-time 10 -w '\n%{http_code}' "$BOOKS_URL/invoices" --data-binary "$payload" \
    -H 'Content-Type: application/json' -H "Idempotency-Key: $send_key") || failed=$?
case $failed:${made##*$'\n'} in
0:2??) number=$(jq -r '.id // ""' <<<"${made%$'\n'*}") && [ -n "$number" ] && said=succeeded ;;
6:* | 7:* | 0:429) said=retryable ;; # no such host, a refused connection: nothing was sent; or it says so
0:400 | 0:401 | 0:403 | 0:404 | 0:405 | 0:410 | 0:413 | 0:415 | 0:422) said=rejected ;;
esac
tieout "attempts/$attempt/outcome" "$(jq -n --arg token "$token" --arg outcome "$said" --arg number "$number" \
    '{$token, $outcome} + if $number == "" then {} else {destination_reference: $number} end')"
stop
