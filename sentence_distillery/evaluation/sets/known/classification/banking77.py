"""Banking77: questions of a bank's customers, by intent."""

from collections.abc import Iterator
from pathlib import Path

from sentence_distillery.evaluation.sets.benchmark import GITHUB, Benchmark, Table, pinned
from sentence_distillery.evaluation.sets.records import Document, records

HOME = f"{GITHUB}/PolyAI-LDN/task-specific-datasets/57ec275d8078af65b7731c2a98be812d844a6d6b/banking_data"
INTENTS = """
Refund_not_showing_up activate_my_card age_limit apple_pay_or_google_pay atm_support automatic_top_up
balance_not_updated_after_bank_transfer balance_not_updated_after_cheque_or_cash_deposit beneficiary_not_allowed
cancel_transfer card_about_to_expire card_acceptance card_arrival card_delivery_estimate card_linking card_not_working
card_payment_fee_charged card_payment_not_recognised card_payment_wrong_exchange_rate card_swallowed
cash_withdrawal_charge cash_withdrawal_not_recognised change_pin compromised_card contactless_not_working
country_support declined_card_payment declined_cash_withdrawal declined_transfer direct_debit_payment_not_recognised
disposable_card_limits edit_personal_details exchange_charge exchange_rate exchange_via_app extra_charge_on_statement
failed_transfer fiat_currency_support get_disposable_virtual_card get_physical_card getting_spare_card
getting_virtual_card lost_or_stolen_card lost_or_stolen_phone order_physical_card passcode_forgotten
pending_card_payment pending_cash_withdrawal pending_top_up pending_transfer pin_blocked receiving_money
request_refund reverted_card_payment? supported_cards_and_currencies terminate_account top_up_by_bank_transfer_charge
top_up_by_card_charge top_up_by_cash_or_cheque top_up_failed top_up_limits top_up_reverted topping_up_by_card
transaction_charged_twice transfer_fee_charged transfer_into_account transfer_not_received_by_recipient
transfer_timing unable_to_verify_identity verify_my_identity verify_source_of_funds verify_top_up
virtual_card_not_working visa_or_mastercard why_verify_identity wrong_amount_of_cash_received
wrong_exchange_rate_for_cash_withdrawal
"""


def read(directory: Path) -> Iterator[Document]:
    """Read questions with their intent as the label."""
    for split in ("train", "test"):
        for place, row in records(directory / f"{split}.csv", ("text", "category")):
            yield Document(place, split, row["text"], row["category"])


SET = Benchmark(
    name="banking77",
    title="Banking77",
    source="Banking77 (Casanueva et al. 2020), PolyAI's files",
    licence="CC BY 4.0",
    citation="Casanueva et al. 2020, Efficient intent detection with dual sentence encoders, NLP for ConvAI",
    origin="external",
    files=("train.csv", "test.csv"),
    pins=pinned(
        ("train.csv", HOME, "b06e26ac675513959a63135f11b94ea7786ed02da65db93a5650d8838cbc664b"),
        ("test.csv", HOME, "d12d6e3bc4c3103966ae786dc435913c0c563dfa328f5a3646d0e62cfeeb474d"),
    ),
    tables=(
        Table(
            "banking77",
            "documents",
            read,
            {"train": 10003, "test": 3080},
            labels=tuple(INTENTS.split()),
            main_metric="accuracy",
            task="classification",
            trainable=False,
        ),
    ),
)
