"""The list of the Bank of Japan's databases, which its API does not offer.

Pure. Codes, names and fields are the Bank's, in the order of its manual.
"""

from __future__ import annotations

from typing import Final, NamedTuple
from unicodedata import normalize

__all__ = ["DATABASES", "Database", "search"]


class Database(NamedTuple):
    """A database and its field of statistics, in both languages."""

    code: str
    japanese: str
    english: str
    category_japanese: str
    category_english: str


_FIELDS: Final = (
    (
        ("金利（預金・貸出関連）", "Interest Rates on Deposits and Loans"),
        (
            (
                "IR01",
                "基準割引率および基準貸付利率（従来「公定歩合」として掲載されていたもの）の推移",
                'The Basic Discount Rates and Basic Loan Rates (Previously Indicated as "Official Discount Rates")',
            ),
            (
                "IR02",
                "預金種類別店頭表示金利の平均年利率等",
                "Average Interest Rates Posted at Financial Institutions by Type of Deposit",
            ),
            ("IR03", "定期預金の預入期間別平均金利", "Average Interest Rates on Time Deposits by Term"),
            ("IR04", "貸出約定平均金利", "Average Contract Interest Rates on Loans and Discounts"),
        ),
    ),
    (
        ("マーケット関連", "Financial Markets"),
        (
            (
                "FM01",
                "無担保コールＯ／Ｎ物レート（毎営業日）",
                "Uncollateralized Overnight Call Rate (average) (Updated every business day)",
            ),
            ("FM02", "短期金融市場金利", "Short-term Money Market Rates"),
            ("FM03", "短期金融市場残高", "Amounts Outstanding in Short-term Money Market"),
            ("FM04", "コール市場残高", "Amounts Outstanding in the Call Money Market"),
            (
                "FM05",
                "公社債発行・償還および現存額",
                "Issuance, Redemption, and Outstanding of Public and Corporate Bonds",
            ),
            (
                "FM06",
                "公社債消化状況（利付国債）",
                "Trading of Interest-bearing Government Bonds by Purchaser (Interest-bearing Government Bonds)",
            ),
            (
                "FM07",
                "(参考）国債窓口販売額・窓口販売率（2004年1月まで）",
                "(Reference) Government Bonds Sales Over the Counter / Counter Sales Ratio (through January 2004)",
            ),
            ("FM08", "外国為替市況", "Foreign Exchange Rates"),
            ("FM09", "実効為替レート", "Effective Exchange Rate"),
        ),
    ),
    (
        ("決済関連", "Payment and Settlement"),
        (
            ("PS01", "各種決済", "Other Payment and Settlement Systems"),
            ("PS02", "フェイルの発生状況", "Basic Figures on Fails"),
        ),
    ),
    (
        ("預金・マネー・貸出", "Money, Deposits and Loans"),
        (
            ("MD01", "マネタリーベース", "Monetary Base"),
            ("MD02", "マネーストック", "Money Stock"),
            ("MD03", "マネタリーサーベイ", "Monetary Survey"),
            (
                "MD04",
                "(参考) マネーサプライ (M2+CD) 増減と信用面の対応",
                "(Reference) Changes in Money Stock (M2+CDs) and Credit",
            ),
            ("MD05", "通貨流通高", "Currency in Circulation"),
            (
                "MD06",
                "日銀当座預金増減要因と金融調節（実績）",
                (
                    "Sources of Changes in Current Account Balances at the Bank of Japan and Market Operations "
                    "(Final Figures)"
                ),
            ),
            ("MD07", "準備預金額", "Reserves"),
            ("MD08", "業態別の日銀当座預金残高", "Bank of Japan Current Account Balances by Sector"),
            (
                "MD09",
                "マネタリーベースと日本銀行の取引",
                "Monetary Base and the Bank of Japan's Transactions",
            ),
            ("MD10", "預金者別預金", "Amounts Outstanding of Deposits by Depositor"),
            ("MD11", "預金・現金・貸出金", "Deposits, Vault Cash, and Loans and Bills Discounted"),
            (
                "MD12",
                "都道府県別預金・現金・貸出金",
                "Deposits, Vault Cash, and Loans and Bills Discounted by Prefecture (Domestically Licensed Banks)",
            ),
            ("MD13", "貸出・預金動向", "Principal Figures of Financial Institutions"),
            (
                "MD14",
                "定期預金の残高および新規受入高",
                "Time Deposits: Amounts Outstanding and New Deposits by Maturity",
            ),
            ("LA01", "貸出先別貸出金", "Loans and Bills Discounted by Sector"),
            ("LA02", "日本銀行貸出", "Loans and Discounts by the Bank of Japan"),
            ("LA03", "その他貸出残高", "Outstanding of Loans (Others)"),
            ("LA04", "コミットメントライン契約額、利用額", "Commitment Lines Extended by Japanese Banks"),
            (
                "LA05",
                "主要銀行貸出動向アンケート調査",
                "Senior Loan Officer Opinion Survey on Bank Lending Practices at Large Japanese Banks",
            ),
        ),
    ),
    (
        ("金融機関バランスシート", "Balance Sheets of the Bank of Japan and Financial Institutions"),
        (
            ("BS01", "日本銀行勘定", "Bank of Japan Accounts"),
            ("BS02", "民間金融機関の資産・負債", "Financial Institutions Accounts"),
        ),
    ),
    (("資金循環", "Flow of Funds"), (("FF", "資金循環", "Flow of Funds"),)),
    (
        ("その他の日本銀行関連", "Other Bank of Japan Statistics"),
        (
            ("OB01", "日本銀行の対政府取引", "Bank of Japan's Transactions with the Government"),
            ("OB02", "日本銀行が受入れている担保の残高", "Collateral Accepted by the Bank of Japan"),
        ),
    ),
    (("短観", "TANKAN"), (("CO", "短観", "TANKAN"),)),
    (
        ("物価", "Prices"),
        (
            ("PR01", "企業物価指数", "Corporate Goods Price Index (CGPI)"),
            ("PR02", "企業向けサービス価格指数", "Services Producer Price Index (SPPI)"),
            (
                "PR03",
                "製造業部門別投入・産出物価指数",
                "Input-Output Price Index of the Manufacturing Industry by Sector (IOPI)",
            ),
            (
                "PR04",
                "＜サテライト指数＞最終需要・中間需要物価指数",
                "<Satellite series> Final Demand-Intermediate Demand price indexes (FD-ID price indexes)",
            ),
        ),
    ),
    (
        ("財政関連", "Public Finance"),
        (
            ("PF01", "財政資金収支", "Statement of Receipts and Payments of the Treasury Accounts"),
            ("PF02", "政府債務", "National Government Debt"),
        ),
    ),
    (
        ("国際収支・BIS関連", "Balance of Payments and BIS-Related Statistics"),
        (
            ("BP01", "国際収支統計", "Balance of Payments"),
            (
                "BIS",
                "BIS 国際資金取引統計および国際与信統計の日本分集計結果",
                (
                    "BIS International Locational Banking Statistics and BIS International Consolidated Banking "
                    "Statistics in Japan"
                ),
            ),
            (
                "DER",
                "デリバティブ取引に関する定例市場報告",
                "Regular Derivatives Market Statistics in Japan",
            ),
        ),
    ),
    (("その他", "Others"), (("OT", "その他", "Others"),)),
)

DATABASES: Final = tuple(Database(*database, *field) for field, databases in _FIELDS for database in databases)
"""The 50 databases."""


def search(text: str) -> list[Database]:
    """Return the databases that have every word of the text in their code, name or field, in either language."""
    words = _normalise(text).split()
    return [database for database in DATABASES if all(word in _normalise(" ".join(database)) for word in words)]


def _normalise(text: str) -> str:
    """Return the text in lower case, with half-width letters and signs."""
    return normalize("NFKC", text).casefold()
