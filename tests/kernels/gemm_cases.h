/* Small gemm cases that between them use every member, type and layout. */
#ifndef WF_TESTS_GEMM_CASES_H
#define WF_TESTS_GEMM_CASES_H

#define GEMM_CASE_LIST(X)                                                                                                                                                                  \
    X("{'op':'gemm','M':130,'N':70,'K':133}")                                                                                                                                              \
    X("{'op':'gemm','M':33,'N':100,'K':64,'trans_a':'T','trans_b':'T'}")                                                                                                                   \
    X("{'op':'gemm','M':64,'N':48,'K':31,'trans_b':'T','a_type':'bf16'}")                                                                                                                  \
    X("{'op':'gemm','M':40,'N':48,'K':100,'a_type':'f32','trans_a':'T'}")                                                                                                                  \
    X("{'op':'gemm','M':40,'N':48,'K':100,'a_type':'f64','alpha':0.3}")                                                                                                                    \
    X("{'op':'gemm','M':40,'N':48,'K':64,'a_type':'e4m3fnuz'}")                                                                                                                            \
    X("{'op':'gemm','M':40,'N':48,'K':64,'a_type':'e4m3fn','b_type':'e5m2',"                                                                                                               \
      "'d_type':'e4m3fn','alpha':0.125}")                                                                                                                                                  \
    X("{'op':'gemm','M':40,'N':48,'K':64,'a_type':'e5m2fnuz','d_type':'bf16'}")                                                                                                            \
    X("{'op':'gemm','M':40,'N':48,'K':1000,'a_type':'i8'}")                                                                                                                                \
    X("{'op':'gemm','M':40,'N':48,'K':70,'a_type':'i8','alpha':-3,'beta':123456789}")                                                                                                      \
    X("{'op':'gemm','M':40,'N':48,'K':70,'alpha':-0.7,'beta':1.5,'c_type':'f32'}")                                                                                                         \
    X("{'op':'gemm','M':20,'N':30,'K':40,'batch':3,'lda':44,'ldb':32,'ldd':37,"                                                                                                            \
      "'stride_d':800,'beta':1,'ldc':31,'stride_b':0}")                                                                                                                                    \
    X("{'op':'gemm','M':20,'N':30,'K':40,'batch':3,'ldd':90,'stride_d':30}")                                                                                                               \
    X("{'op':'gemm','M':600,'N':9,'K':520,'inputs':'integers'}")                                                                                                                           \
    X("{'op':'gemm','M':3,'N':20011,'K':5}")                                                                                                                                               \
    X("{'op':'gemm','M':1,'N':1,'K':1,'inputs':'ones'}")                                                                                                                                   \
    X("{'op':'gemm','M':50,'N':50,'K':50,'inputs':'zeros'}")                                                                                                                               \
    X("{'op':'gemm','M':50,'N':50,'K':50,'inputs':'powers','a_type':'f32'}")                                                                                                               \
    X("{'op':'gemm','M':50,'N':50,'K':0,'beta':2}")                                                                                                                                        \
    X("{'op':'gemm','M':50,'N':50,'K':9,'alpha':0,'beta':2}")                                                                                                                              \
    X("{'op':'gemm','M':40,'N':70,'K':100,'bias':'n'}")                                                                                                                                    \
    X("{'op':'gemm','M':40,'N':70,'K':100,'bias':'n','bias_type':'f32','beta':2,'alpha':-0.5,'a_type':'bf16','batch':2}")                                                                  \
    X("{'op':'gemm','M':40,'N':70,'K':100,'activation':'silu','alpha':0.25,'beta':1}")                                                                                                     \
    X("{'op':'gemm','M':40,'N':70,'K':100,'activation':'silu_gate','bias':'n','a_type':'bf16','d_type':'f32','alpha':0.25}")                                                               \
    X("{'op':'gemm','M':33,'N':40,'K':64,'activation':'silu_gate','trans_b':'T','batch':2,'ldd':47}")                                                                                      \
    X("{'op':'gemm','M':40,'N':300,'K':260,'a_type':'e4m3fnuz','scale':'row','d_type':'bf16'}")                                                                                            \
    X("{'op':'gemm','M':130,'N':300,'K':260,'a_type':'e4m3fn','scale':'block128','d_type':'f32','trans_b':'T'}")                                                                           \
    X("{'op':'gemm','M':33,'N':130,'K':300,'a_type':'e5m2','b_type':'e4m3fn','scale':'block128','trans_a':'T','batch':2,'stride_b':0,'bias':'n','activation':'silu_gate','alpha':0.01}")   \
    X("{'op':'gemm','M':33,'N':50,'K':65,'a_type':'e4m3fnuz','scale':'row','activation':'silu','d_type':'e4m3fnuz','bias':'n','beta':0.5,'alpha':0.1}")                                    \
    X("{'op':'gemm','M':20,'N':150,'K':256,'a_type':'e4m3fnuz','scale':'block128','inputs':'integers','d_type':'f32','trans_b':'T','activation':'silu_gate','trans_a':'T','alpha':0.125}") \
    X("{'op':'gemm','M':20,'N':50,'K':0,'a_type':'e4m3fnuz','scale':'block128','bias':'n','activation':'silu'}")                                                                           \
    X("{'op':'gemm','M':20,'N':50,'K':40,'alpha':0,'a_type':'e5m2fnuz','scale':'row','bias':'n','activation':'silu_gate','d_type':'f32'}")

#endif
