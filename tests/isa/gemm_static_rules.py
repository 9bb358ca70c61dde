#!/usr/bin/env python3
"""The rules of gemm_static.py on reports that are written here."""
import copy
import unittest

import gemm_static

FIGURES = {"waves_per_simd": 1, "vgpr_spills": 0, "sgpr_spills": 0, "scratch_bytes": 0, "scratch_instructions": 0,
           "hot_mfma": 64, "hot_valu_passes": 0, "hot_valu_to_mfma": 0, "hot_mfma_share": 60,
           "hot_load_bytes": 16, "hot_vm_drains": 0, "mca": 95, "mca_nowait": 99}


def kernel(name, area=256 * 256):
    return {"name": name, "area": area}


def symbol(**changed):
    one = {"symbol": "s", "figures": dict(FIGURES), "unknown": {}, "hot": [{"mfma": 64}]}
    one["figures"].update(changed)
    return one


def broken(name, *symbols, area=256 * 256):
    return gemm_static.judge(kernel(name, area), {"symbols": list(symbols)})[1]


class Rules(unittest.TestCase):
    def test_rows(self):
        for name, area, row in (
                ("gemm_f16_mfma_256x256_nt", 256 * 256, "NT, at least 256x128"),
                ("gemm_i8_mfma_256x128_nt_stream", 256 * 128, "NT, at least 256x128"),
                ("gemm_bf16_mfma_128x128x64_nt", 128 * 128, "NT, smaller"),
                ("gemm_e4m3_mfma_256x256_tn", 256 * 256, "other transposes"),
                ("gemm_e4m3_mfma_block_256x128_nt", 256 * 128, "fp8 block scales"),
                ("grouped_e4m3_mfma_block_128x128_nt_gate", 128 * 128, "fp8 block scales"),
                ("grouped_e4m3_mfma_block_64x128_nt", 64 * 128, "fp8 block scales, smaller"),
                ("grouped_bf16_mfma_256x256_nt", 256 * 256, "NT, at least 256x128"),
                ("grouped_f16_mfma_128x128_nt_gate", 128 * 128, "NT, smaller"),
                ("grouped_f16_mfma_128x128_nn", 128 * 128, "other transposes"),
                ("gemm_skinny_f16_16x64_nt", 16 * 64, "few rows")):
            self.assertEqual(gemm_static.row_of(kernel(name, area))[0], row, name)

    def test_a_kernel_that_no_row_covers_fails(self):
        self.assertIn("no row", broken("gemm_f16_mfma_256x256", symbol())[0])

    def test_each_limit_of_large_tiles(self):
        name = "gemm_f16_mfma_256x256_nt"
        self.assertEqual(broken(name, symbol()), [])
        for change in ({"mca": 89.9}, {"mca_nowait": 96.9}, {"hot_valu_passes": 1},
                       {"hot_mfma_share": 54.9}, {"vgpr_spills": 1}, {"sgpr_spills": 1},
                       {"scratch_bytes": 4}, {"scratch_instructions": 1}, {"waves_per_simd": 0.5}, {"mca": None}):
            self.assertEqual(len(broken(name, symbol(**change))), 1, change)

    def test_other_rows(self):
        transposed = "gemm_f16_mfma_256x256_tt"
        self.assertEqual(broken(transposed, symbol(mca=80, hot_valu_to_mfma=0.25)), [])
        self.assertEqual(len(broken(transposed, symbol(mca=79, hot_valu_to_mfma=0.26))), 2)
        blocks = "gemm_e4m3_mfma_block_256x128_nt"
        self.assertEqual(broken(blocks, symbol(mca=70, hot_valu_to_mfma=0.28)), [])
        self.assertEqual(len(broken(blocks, symbol(mca=69, hot_valu_to_mfma=0.29))), 2)
        self.assertEqual(len(broken(blocks, symbol(hot_vm_drains=1))), 1)
        small = "grouped_e4m3_mfma_block_64x128_nt"
        self.assertEqual(broken(small, symbol(mca=41, mca_nowait=80, hot_valu_to_mfma=0.28),
                                area=64 * 128), [])
        self.assertEqual(len(broken(small, symbol(mca=40, hot_valu_to_mfma=0.29),
                                    area=64 * 128)), 2)
        self.assertEqual(len(broken("gemm_skinny_f16_nt", symbol(hot_load_bytes=8))), 1)

    def test_smaller_tiles_by_the_peer_of_their_size(self):
        name = "gemm_f16_mfma_128x128_nt"
        self.assertEqual(broken(name, symbol(mca=81, mca_nowait=97), area=128 * 128), [])
        self.assertEqual(len(broken(name, symbol(mca=80), area=128 * 128)), 1)
        self.assertEqual(len(broken(name, symbol(mca=88), area=160 * 64)), 1)
        self.assertEqual(broken(name, symbol(mca=41, mca_nowait=80), area=64 * 64), [])
        self.assertEqual(broken(name, symbol(mca=1), area=32 * 64), [])

    def test_what_is_known_may_not_get_worse(self):
        name = "gemm_f16_mfma_256x256_nt"
        low = broken(name, symbol(mca=80))
        at = f"{name} s mca"
        self.assertEqual(len(gemm_static.split_known(low, {})[0]), 1)
        self.assertEqual(gemm_static.split_known(low, {at: 80.2}), ([], [str(low[0])]))
        self.assertEqual(len(gemm_static.split_known(low, {at: 85})[0]), 1)
        self.assertIn("take it out", gemm_static.split_known([], {at: 80})[0][0])
        dear = broken("gemm_f16_mfma_256x256_tt", symbol(hot_valu_to_mfma=0.5))
        at = "gemm_f16_mfma_256x256_tt s hot_valu_to_mfma"
        self.assertEqual(gemm_static.split_known(dear, {at: 0.5})[0], [])
        self.assertEqual(len(gemm_static.split_known(dear, {at: 0.3})[0]), 1)
        for never in (symbol(vgpr_spills=1), symbol(mca=None)):
            known = {f"{name} s vgpr_spills": 1, f"{name} s mca": 1}
            self.assertTrue(gemm_static.split_known(broken(name, never), known)[0])

    def test_symbols_of_one_kernel(self):
        name = "gemm_f16_mfma_256x256_nt"
        other = copy.deepcopy(symbol())
        other["hot"] = [{"mfma": 64, "valu": 3}]
        self.assertIn("differ in valu", broken(name, symbol(), other)[0])
        adds = symbol(hot_mfma=0, mca=None, hot_mfma_share=None)
        self.assertEqual(broken(name, symbol(), adds), [])
        self.assertIn("no loop", broken(name, adds)[0])


if __name__ == "__main__":
    unittest.main()
